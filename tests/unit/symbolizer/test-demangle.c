// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include "symbolizer/demangle.h"

static void check(const char *mangled, const char *wanted)
{
	char *name;

	CHECK_EQ(demangle(mangled, &name), 0);
	if (wanted)
		CHECK_STR(name, wanted);
	else
		CHECK(!name);
	free(name);
}

/* libFuzzer found this name: libiberty counts lifetimes for years. */
static void test_lifetimes(void)
{
	check("_RXYFGtB4GtB4_", NULL);
}

static void test_plain(void)
{
	check("main", NULL);
	check("", NULL);
	check("_", NULL);
	check("_Z", NULL);
	check("_R", NULL);
	check("_start", NULL);
	check("camlp4", NULL);
}

static void test_cplusplus(void)
{
	check("_Z3addii", "add");
	check("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size");
	check("_ZN3foo3barEv.cold", "foo::bar");
	check("_ZNSt8ios_base4InitC1Ev@@GLIBCXX_3.4", "std::ios_base::Init::Init");
	check("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()");
}

static void test_rust(void)
{
	check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check("_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_"
	      "str17h0123456789abcdefE",
	      "<alloc::string::String as core::fmt::Write>::write_str");
	check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	check("_RNvMs_NtCs1234_7mycrate3barNtB4_3Baz3new", "<mycrate::bar::Baz>::new");
}

static void test_ocaml(void)
{
	check("camlStdlib__List__map_253", "Stdlib.List.map_253");
	check("camlFoo$2b$2_1", "Foo+$2_1");
	check("camlA$", "A$");
}

/* Puts a reference to the n-th part of the name. */
static void put_back_reference(char *name, unsigned int n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	name += strlen(name);
	if (n > 36)
		sprintf(name, "S%c%c_", digits[(n - 1) / 36], digits[(n - 1) % 36]);
	else
		sprintf(name, "S%c_", digits[n - 1]);
}

/* Forty types, each a pair of the previous one. As text, they would be 2^40 words. */
static void test_bomb(void)
{
	char name[1000] = "_Z1fI1aIiiE";

	for (unsigned int i = 1; i < 40; i++) {
		strcat(name, "1aI");
		put_back_reference(name, 2 * i);
		put_back_reference(name, 2 * i);
		strcat(name, "E");
	}
	strcat(name, "Evv");
	check(name, NULL);
}

CHECK_MAIN({ "a name with too many lifetimes stays", test_lifetimes },
	   { "plain names stay", test_plain }, { "C++ names are demangled", test_cplusplus },
	   { "Rust names are demangled", test_rust }, { "OCaml names are demangled", test_ocaml },
	   { "names that expand absurdly stay", test_bomb })
