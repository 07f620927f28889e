// SPDX-License-Identifier: GPL-2.0-only
/* Foreign data may have any number of rows. The bounds must not favour incidents or controls. */
#include <string.h>

#include "query/common/common-internal.h"
#include "tests/check.h"

#define SETS 200
#define WINDOWS (SETS * 4)

static void bounds_done(struct common_run *run)
{
	array_done(&run->values);
	array_done(&run->windows);
	array_done(&run->last);
	strings_done(&run->keys);
}

/* Further names are left out, but not further values of names that are known. */
static void test_names(void)
{
	struct common_run run = { 0 };
	char key[1001];
	size_t values;

	memset(key, 'x', 1000);
	key[1000] = 0;
	for (uint32_t i = 0; run.key_bytes < COMMON_KEY_BYTES_MOST; i++) {
		snprintf(key, 12, "t%010u", i);
		key[11] = 'x';
		CHECK_EQ(common_values_add(&run, 0, key, 1), 0);
	}
	values = run.values.count;
	CHECK_EQ(common_values_add(&run, 1, "tnew", 1), 0);
	CHECK_EQ(run.values.count, values);
	CHECK_EQ(common_values_add(&run, 1, key, 1), 0);
	CHECK_EQ(run.values.count, values + 1);
	bounds_done(&run);
}

/* A gauge of several CPUs has one value in a window: the highest. */
static void test_highest(void)
{
	struct common_run run = { 0 };

	CHECK_EQ(common_values_add(&run, 0, "gcpu*/steal_ms", 2), 0);
	CHECK_EQ(common_values_add(&run, 0, "tother", 9), 0);
	CHECK_EQ(common_values_add(&run, 0, "gcpu*/steal_ms", 5), 0);
	CHECK_EQ(common_values_add(&run, 0, "gcpu*/steal_ms", 3), 0);
	CHECK_EQ(common_values_add(&run, 1, "gcpu*/steal_ms", 1), 0);
	CHECK_EQ(run.values.count, 3);
	CHECK(run.values.items[0].value == 5);
	CHECK(run.values.items[2].value == 1);
	bounds_done(&run);
}

static void add_windows(struct common_run *run, struct common_answer *answer)
{
	for (uint32_t i = 0; i < WINDOWS; i++)
		CHECK_EQ(array_push(&run->windows, (struct common_window){ .set = i / 4,
									   .rank = i % 4,
									   .read = true }),
			 0);
	for (size_t i = 0; i < SETS; i++)
		CHECK_EQ(array_push(&answer->cases, (struct common_case){ .read = true }), 0);
}

/* If the values of all rows have no room, those that most windows have remain. */
static void test_cells(void)
{
	struct common_answer answer = { 0 };
	struct common_run run = { .answer = &answer };
	struct common_matrix matrix = { 0 };
	size_t room = COMMON_CELLS_MOST / WINDOWS;
	char key[32];

	add_windows(&run, &answer);
	for (uint32_t i = 0; i < 2 * room; i++)
		for (uint32_t window = 0; window < (i % 4 ? 2 : 3); window++) {
			snprintf(key, sizeof(key), "t%u", i);
			CHECK_EQ(common_values_add(&run, window, key, 1), 0);
		}
	CHECK_EQ(common_matrix_make(&run, &matrix), 0);
	CHECK_EQ(matrix.input.rows, (2 * room + 3) / 4);
	for (size_t i = 0; i < matrix.input.rows; i++)
		CHECK_EQ(atoi(strings_at(&run.keys, matrix.keys[i]) + 1) % 4, 0);
	common_matrix_done(&matrix);
	common_done(&answer);
	bounds_done(&run);
}

static const struct check_test tests[] = { { "names have bounds", test_names },
					   { "the highest value counts", test_highest },
					   { "rows have bounds", test_cells } };

int main(void)
{
	return check_run(tests, ARRAY_SIZE(tests));
}
