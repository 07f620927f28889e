// SPDX-License-Identifier: GPL-2.0-only
/* A line goes from the begin of a stall to the incident, within the columns. */
#include "tests/check.h"

#include "base/cleanup.h"
#include "draw/mark-line.h"

/* Ten cells of 10 ns. */
#define FROM_NS 1000
#define TO_NS 1100

static const struct terminal unicode = { .width = 80, .unicode = true };
static const struct terminal ascii = { .width = 80 };

static void check_marks(const struct terminal *terminal, const struct mark *marks, size_t count,
			uint64_t at_ns, const char *expected)
{
	const struct mark_line line = { marks, count, at_ns, FROM_NS, TO_NS, 10, 1 };
	_cleanup_(buffer_done) struct buffer text = { 0 };

	CHECK_EQ(mark_line_needed(&line), count || at_ns);
	mark_line_put(&line, terminal, &text);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, expected);
}

static void test_stalls(void)
{
	const struct mark stall = { 1085, 1021, "" }, brief = { 1085, 1081, "" };
	const struct mark known = { 1085, 0, "" }, both[] = { stall, { 1095, 1041, "" } };

	check_marks(&ascii, &known, 1, 0, "        v");
	check_marks(&ascii, &brief, 1, 0, "        v");
	check_marks(&ascii, &stall, 1, 0, "  +-----v");
	check_marks(&unicode, &stall, 1, 0, "  ├─────▼");
	check_marks(&unicode, both, 2, 0, "  ├─├───▼▼");
}

/* If a part of a stall is outside of the window, the line lacks a begin or an end. */
static void test_edges(void)
{
	const struct mark before = { 1085, 500, "" }, behind = { 1100, 1071, "" };
	const struct mark over = { 2000, 500, "" };

	check_marks(&ascii, &before, 1, 0, "--------v");
	check_marks(&ascii, &behind, 1, 0, "       +--");
	check_marks(&ascii, &over, 1, 0, "----------");
	check_marks(&ascii, NULL, 0, 0, "");
}

static void test_requested(void)
{
	const struct mark stall = { 1085, 1021, "" };

	check_marks(&ascii, NULL, 0, 1099, "         *");
	check_marks(&ascii, &stall, 1, 1050, "  +--*--v");
	/* an incident hides the requested moment */
	check_marks(&ascii, &stall, 1, 1084, "  +-----v");
}

static void test_wide_cells(void)
{
	const struct mark stall = { 1055, 1021, "" };
	const struct mark_line line = { &stall, 1, 0, FROM_NS, TO_NS, 10, 3 };
	const struct terminal color = { .width = 80, .color = true };
	_cleanup_(buffer_done) struct buffer text = { 0 };

	mark_line_put(&line, &color, &text);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, "      \033[0;1;38;5;196m+--------v\033[0m");
}

CHECK_MAIN({ "stalls", test_stalls }, { "the edges of the window", test_edges },
	   { "the requested moment", test_requested },
	   { "cells of several columns", test_wide_cells })
