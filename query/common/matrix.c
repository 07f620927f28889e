// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/common/common-internal.h"
#include "query/read/series.h"

/* The least level of CPU time, in CPUs. */
#define TIME_LEAST 0.05f
/* The least level of a gauge. */
#define GAUGE_LEAST 1e-3f
/* A row that fewer windows have is not shared. */
#define HAVE_LEAST 2

void common_matrix_done(struct common_matrix *matrix)
{
	free(matrix->firsts);
	free(matrix->values);
	free(matrix->least);
	free(matrix->both);
	free(matrix->cases);
	free(matrix->keys);
}

/* Gives a column to each window of a set whose incident and at least one control were read. */
static size_t matrix_set_columns(const struct common_run *run, struct common_matrix *matrix,
				 uint32_t *columns)
{
	const struct common_window *windows = run->windows.items;
	size_t column = 0, sets = 0;

	for (size_t i = 0; i < run->windows.count;) {
		size_t to = i + 1, count = windows[i].read;

		while (to < run->windows.count && windows[to].rank)
			count += windows[to++].read;
		if (windows[i].read && count > 1) {
			matrix->cases[sets] = windows[i].set;
			matrix->firsts[sets++] = column;
			for (size_t at = i; at < to; at++)
				if (windows[at].read)
					columns[at] = ++column;
		}
		i = to;
	}
	matrix->firsts[sets] = column;
	matrix->input.sets = sets;
	return column;
}

static int matrix_compare_keys(const void *a, const void *b, void *context)
{
	const struct strings *keys = context;

	return strcmp(strings_at(keys, *(const uint32_t *)a),
		      strings_at(keys, *(const uint32_t *)b));
}

/*
 * Finds how many windows a row has at least, so that the values of all rows have room. The bound
 * does not depend on which window is an incident's. Returns 0 or -ENOMEM.
 */
static int matrix_have_least(const uint32_t *counts, size_t count, size_t windows,
			     uint32_t *ret_least)
{
	size_t room = COMMON_CELLS_MOST / MAX(windows, (size_t)1), rows = 0;
	_cleanup_free_ uint32_t *by_count = calloc(windows + 1, sizeof(*by_count));
	uint32_t least = windows + 1;

	if (!by_count)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		by_count[MIN((size_t)counts[i], windows)]++;
	while (least > HAVE_LEAST && rows + by_count[least - 1] <= room)
		rows += by_count[--least];
	*ret_least = least;
	return 0;
}

/*
 * Numbers the rows that several windows have, by name: the order in which threads read windows must
 * not decide between equal rows. Sets matrix->keys.
 */
static int matrix_number_rows(struct common_run *run, struct common_matrix *matrix,
			      const uint32_t *columns, uint32_t *numbers)
{
	size_t count = strings_count(&run->keys), rows = 0;
	uint32_t least;

	matrix->keys = calloc(count + 1, sizeof(*matrix->keys));
	if (!matrix->keys)
		return -ENOMEM;
	for (size_t i = 0; i < run->values.count; i++)
		if (columns[run->values.items[i].window])
			numbers[run->values.items[i].row]++;
	if (matrix_have_least(numbers, count, matrix->firsts[matrix->input.sets], &least) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (numbers[i] >= least)
			matrix->keys[rows++] = i;
	qsort_r(matrix->keys, rows, sizeof(*matrix->keys), matrix_compare_keys, &run->keys);
	memset(numbers, 0, count * sizeof(*numbers));
	for (size_t i = 0; i < rows; i++)
		numbers[matrix->keys[i]] = i + 1;
	matrix->input.rows = rows;
	return 0;
}

static void matrix_fill(const struct common_run *run, struct common_matrix *matrix,
			const uint32_t *columns, const uint32_t *numbers)
{
	size_t windows = matrix->firsts[matrix->input.sets];

	for (size_t row = 0; row < matrix->input.rows; row++) {
		const char *text = strings_at(&run->keys, matrix->keys[row]);

		matrix->least[row] = *text == 'g' ? GAUGE_LEAST : TIME_LEAST;
		matrix->both[row] = *text == 'g' && series_is_level(series_unit(text + 1));
	}
	for (size_t i = 0; i < run->values.count; i++) {
		const struct common_value *value = &run->values.items[i];

		if (numbers[value->row] && columns[value->window])
			matrix->values[(numbers[value->row] - 1) * windows +
				       columns[value->window] - 1] = value->value;
	}
}

static int matrix_allocate(struct common_matrix *matrix, size_t rows, size_t windows)
{
	matrix->values = calloc(rows * windows + 1, sizeof(*matrix->values));
	matrix->least = calloc(rows + 1, sizeof(*matrix->least));
	matrix->both = calloc(rows + 1, sizeof(*matrix->both));
	return matrix->values && matrix->least && matrix->both ? 0 : -ENOMEM;
}

int common_matrix_make(struct common_run *run, struct common_matrix *matrix)
{
	_cleanup_free_ uint32_t *columns = calloc(run->windows.count + 1, sizeof(*columns));
	_cleanup_free_ uint32_t *numbers = calloc(strings_count(&run->keys) + 1, sizeof(*numbers));
	size_t windows, sets = run->answer->cases.count + 1;
	int r;

	matrix->firsts = calloc(sets + 1, sizeof(*matrix->firsts));
	matrix->cases = calloc(sets, sizeof(*matrix->cases));
	if (!columns || !numbers || !matrix->firsts || !matrix->cases)
		return -ENOMEM;
	windows = matrix_set_columns(run, matrix, columns);
	r = matrix_number_rows(run, matrix, columns, numbers);
	if (r < 0)
		return r;
	r = matrix_allocate(matrix, matrix->input.rows, windows);
	if (r < 0)
		return r;
	matrix_fill(run, matrix, columns, numbers);
	array_done(&run->values);
	matrix->input.firsts = matrix->firsts;
	matrix->input.values = matrix->values;
	matrix->input.least = matrix->least;
	matrix->input.both = matrix->both;
	return 0;
}
