// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <stdint.h>

#include "symbolizer/kallsyms.h"

static struct symbols *parse(const char *text)
{
	struct symbols *symbols = NULL;

	CHECK_EQ(kallsyms_parse(text, strlen(text), &symbols), 0);
	return symbols;
}

static const char *name_at(const struct symbols *symbols, uint64_t address)
{
	struct symbol symbol;

	return symbols_find(symbols, address, &symbol) ? symbol.name : "";
}

static void test_kernel_and_modules(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols =
		parse("ffffffff81000000 T _stext\n"
		      "ffffffff81000010 t do_work\n"
		      "ffffffff81000020 R constant\n"
		      "ffffffff81000030 D variable\n"
		      "ffffffffc0002000 t two\t[b]\n"
		      "ffffffffc0001000 t one\t[a]\n"
		      "ffffffffc0001100 T one_more\t[a]\n"
		      "ffffffffc0003000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]");

	CHECK_EQ(symbols_count(symbols), 6);
	CHECK_STR(name_at(symbols, 0xffffffff8100000f), "_stext");
	/* a constant does not end a function, but data does */
	CHECK_STR(name_at(symbols, 0xffffffff8100002f), "do_work");
	CHECK_STR(name_at(symbols, 0xffffffff81000030), "");
	CHECK_STR(name_at(symbols, 0xffffffffc00010ff), "one");
	CHECK_STR(name_at(symbols, 0xffffffffc0001fff), "one_more");
	CHECK_STR(name_at(symbols, 0xffffffffc0002000), "two");
	CHECK_STR(name_at(symbols, 0xffffffffc0003001), "bpf_prog_6deef7357e7b4530_sd_fw");
}

static void test_restricted(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols =
		parse("0000000000000000 T _stext\n0000000000000000 T _text\n");

	CHECK_EQ(symbols_count(symbols), 0);
}

static void test_damaged_lines(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols =
		parse("\n\n \nffffffff81000000\nffffffff81000000 \nffffffff81000000 T\n"
		      "ffffffff81000000 T \nffffffff81000000 T\tx\nffffffff81000000000 T too_long\n"
		      "zzzz T bad\n T none\nffffffff81000000 T \t[m]\n"
		      "ffffffff81000100 T good\nffffffff8100020");

	CHECK_EQ(symbols_count(symbols), 1);
	CHECK_STR(name_at(symbols, 0xffffffff81000100), "good");
}

static void test_aliases(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols =
		parse("ffffffff81000000 T srso_alias_untrain_ret\n"
		      "ffffffff81000000 T _stext\n"
		      "ffffffff81000000 T _text\n"
		      "ffffffff81000010 t next\n");

	/* all but the last symbol lack a size, and are therefore not chosen, as in perf */
	CHECK_STR(name_at(symbols, 0xffffffff81000000), "_text");
}

CHECK_MAIN({ "symbols of the kernel and of modules", test_kernel_and_modules },
	   { "restricted addresses give no names", test_restricted },
	   { "damaged lines are skipped", test_damaged_lines },
	   { "of aliases the best is taken", test_aliases })
