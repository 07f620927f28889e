// SPDX-License-Identifier: GPL-2.0-only
/* Rows of a server's answer: whole rows are read, and damaged ones are refused. */
#include "tests/check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fleet/ask/ask-rows.h"
#include "fleet/row-binary.h"

static struct buffer bytes;
static struct ask_rows rows;

static void put_row(const char *text, uint64_t number, double real)
{
	row_put_text(&bytes, text);
	buffer_u64(&bytes, number);
	row_put_double(&bytes, real);
}

static void test_rows(void)
{
	bytes.size = 0;
	put_row("a", 1, 0.5);
	put_row("", UINT64_MAX, NAN);
	CHECK_EQ(ask_rows_read(bytes.data, bytes.size, "tnr", &rows, NULL), 0);
	CHECK_EQ(rows.count, 2);
	CHECK_STR(ask_row(&rows, 0)[0].text, "a");
	CHECK_EQ(ask_row(&rows, 0)[1].number, 1);
	CHECK(ask_row(&rows, 0)[2].real == 0.5);
	CHECK_STR(ask_row(&rows, 1)[0].text, "");
	CHECK_EQ(ask_row(&rows, 1)[1].number, UINT64_MAX);
	/* the server divided by nothing */
	CHECK(ask_row(&rows, 1)[2].real == 0);
	ask_rows_done(&rows);
}

static void test_damaged(void)
{
	struct error error = { 0 };

	bytes.size = 0;
	put_row("abc", 1, 0.5);
	for (size_t size = 1; size < bytes.size; size++)
		CHECK_EQ(ask_rows_read(bytes.data, size, "tnr", &rows, &error), -EBADMSG);
	/* a text that is longer than memory */
	bytes.size = 0;
	buffer_varint(&bytes, UINT64_MAX);
	CHECK_EQ(ask_rows_read(bytes.data, bytes.size, "t", &rows, &error), -EBADMSG);
	CHECK(strstr(error.text, "damaged"));
	CHECK_EQ(ask_rows_read(NULL, 0, "t", &rows, &error), 0);
	CHECK_EQ(rows.count, 0);
	buffer_done(&bytes);
}

/* An empty text is one byte of the answer, and a cell of 24 bytes here. */
static void test_bound(void)
{
	size_t size = ASK_CELLS_MAX + 2;
	uint8_t *texts = calloc(size, 1);
	struct error error = { 0 };

	CHECK(texts);
	CHECK_EQ(ask_rows_read(texts, ASK_CELLS_MAX, "t", &rows, &error), 0);
	CHECK_EQ(rows.count, ASK_CELLS_MAX);
	ask_rows_done(&rows);
	CHECK_EQ(ask_rows_read(texts, size, "tt", &rows, &error), -EFBIG);
	CHECK(strstr(error.text, "shorter window"));
	free(texts);
}

CHECK_MAIN({ "rows are read", test_rows }, { "damaged rows are refused", test_damaged },
	   { "too many rows are refused", test_bound })
