// SPDX-License-Identifier: GPL-2.0-only
/* Which patterns are none, and what the others pass. */
#include "tests/check.h"

#include "query/window/glob.h"
#include "tests/random.h"

static const char *wrong(const char *pattern)
{
	static struct error error;

	error.text[0] = 0;
	return glob_check(pattern, &error) < 0 ? error.text : NULL;
}

static void test_sound(void)
{
	static const char *const sound[] = { "",
					     "*",
					     "kube*",
					     "?",
					     "[a-z]",
					     "[]]",
					     "[!]]",
					     "[^]a]*",
					     "[]-a]",
					     "[a-]",
					     "[-a]",
					     "[!-]",
					     "[[:alpha:]]",
					     "[[:alpha:][:digit:]_]",
					     "[[.a.]]",
					     "[[=a=]]",
					     "[[:]",
					     "[[:A:]",
					     "\\[",
					     "\\\\",
					     "[\\]]",
					     "[a\\]b]",
					     "a]",
					     "]",
					     "[a-a]",
					     "cgroup:*",
					     "*/kubelet.service",
					     "[/]",
					     "[[.a.]-z]",
					     "[a-[.z.]]",
					     "\xff",
					     "[\x80-\xff]" };

	for (size_t i = 0; i < ARRAY_SIZE(sound); i++)
		if (wrong(sound[i]))
			CHECK_STR(wrong(sound[i]), sound[i]);
}

static void test_unclosed(void)
{
	static const char *const open[] = { "[",    "[z-a", "[x",     "a[",  "[]",
					    "[!]",  "[^]",  "[!",     "[a-", "[[:alpha:]",
					    "[\\]", "[a\\", "x[a]y[b" };
	size_t refused = 0;

	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		refused += wrong(open[i]) != NULL;
	CHECK_EQ(refused, ARRAY_SIZE(open));
	CHECK_STR(wrong("[x"),
		  "\"[x\" is no pattern: it has a [ without its ]; \\[ stands for a [ itself");
}

static void test_others(void)
{
	CHECK_STR(wrong("[z-a]"),
		  "\"[z-a]\" is no pattern: a range in it runs backwards, as in [z-a]");
	CHECK(wrong("x[0-9b-a]"));
	CHECK(wrong("[\xff-\x80]"));
	CHECK_STR(wrong("a\\"),
		  "\"a\\\" is no pattern: nothing is behind its \\; \\\\ stands for a \\ itself");
	CHECK_STR(wrong("[[:letter:]]"),
		  "\"[[:letter:]]\" is no pattern: it has a class between [: "
		  "and :] that is none; use [:alpha:], [:digit:]");
	CHECK(wrong("[[:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:]]"));
}

static void test_passes(void)
{
	CHECK(glob_passes(NULL, "x"));
	CHECK(glob_passes("kube*", "kubelet"));
	CHECK(!glob_passes("kube", "kubelet"));
	CHECK(glob_passes("*/kubelet.service", "/system.slice/a/kubelet.service"));
	CHECK(glob_passes("\\[x", "[x"));
}

/* What is not refused means the same with more behind it: were a [ of it still open, that would be
 * closed by what follows. */
static void test_random(void)
{
	static const char signs[] = "[]!^-\\:.=az*";
	size_t sound = 0;

	for (int i = 0; i < 20000; i++) {
		char pattern[10] = "", longer[16];
		size_t size = 1 + random_below(8);

		for (size_t k = 0; k < size; k++)
			pattern[k] = signs[random_below(sizeof(signs) - 1)];
		if (wrong(pattern))
			continue;
		sound++;
		snprintf(longer, sizeof(longer), "%s]", pattern);
		CHECK_EQ(glob_passes(pattern, "a"), glob_passes(longer, "a]"));
		CHECK_EQ(glob_passes(pattern, "z-"), glob_passes(longer, "z-]"));
	}
	CHECK(sound > 1000);
}

CHECK_MAIN({ "sound ones", test_sound }, { "a bracket that is open", test_unclosed },
	   { "what else is wrong", test_others }, { "what they pass", test_passes },
	   { "random ones", test_random })
