// SPDX-License-Identifier: GPL-2.0-only
/* Each worker adds to rows of its own, one for each name; the rows are merged at the end. */
#include "query/read/program-ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/read/scan.h"

uint64_t program_ends_samples(const struct program_ends_row *row)
{
	return row->shares.whole + row->shares.cut + row->shares.frame_pointers;
}

void program_ends_done(struct program_ends *ends)
{
	strings_done(&ends->names);
	array_done(&ends->rows);
}

/* Finds or adds the row of a name. Until the end, rows are in the order of the names' numbers. */
static int program_ends_row(struct program_ends *ends, const char *name,
			    struct program_ends_row **ret_row)
{
	uint32_t number;
	int r = strings_add(&ends->names, name, strlen(name), &number);

	if (r < 0)
		return r;
	while (ends->rows.count <= number) {
		const struct program_ends_row row = { .name = ends->rows.count };

		if (array_push(&ends->rows, row) < 0)
			return -ENOMEM;
	}
	*ret_row = &ends->rows.items[number];
	return 0;
}

static int program_ends_add(void *context, unsigned int worker, const struct store_segment *segment,
			    const struct tape *tape, const struct window_filter_times *times)
{
	struct program_ends *ends = (struct program_ends *)context + worker;
	_cleanup_free_ uint8_t *kinds = NULL;
	struct program_ends_row *row;
	int r = stack_ends_make(tape, &kinds);

	(void)segment;
	(void)times;
	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		uint32_t comm = tape->threads.items[sample->thread].comm;

		r = program_ends_row(ends, tape_string(tape, comm), &row);
		if (r < 0)
			return r;
		stack_ends_add(&row->shares, kinds[sample->stack], 1);
	}
	return r;
}

static int program_ends_merge(struct program_ends *ends, const struct program_ends *other)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < other->rows.count; i++) {
		const struct stack_shares *shares = &other->rows.items[i].shares;
		struct program_ends_row *row;

		r = program_ends_row(ends, strings_at(&other->names, i), &row);
		if (r < 0)
			return r;
		row->shares.whole += shares->whole;
		row->shares.cut += shares->cut;
		row->shares.frame_pointers += shares->frame_pointers;
	}
	return r;
}

static int program_ends_compare(const void *a, const void *b)
{
	const struct program_ends_row *left = a, *right = b;
	uint64_t more = program_ends_samples(right), less = program_ends_samples(left);

	if (more != less)
		return more < less ? -1 : 1;
	return left->name < right->name ? -1 : 1;
}

/* Drops the programs without a user stack, and sorts the others. */
static void program_ends_finish(struct program_ends *ends)
{
	size_t kept = 0;

	for (size_t i = 0; i < ends->rows.count; i++)
		if (program_ends_samples(&ends->rows.items[i]))
			ends->rows.items[kept++] = ends->rows.items[i];
	ends->rows.count = kept;
	if (kept)
		qsort(ends->rows.items, kept, sizeof(*ends->rows.items), program_ends_compare);
}

static int program_ends_scan(struct store_reader *reader, const struct question *question,
			     unsigned int threads, struct program_ends *workers,
			     struct error *error)
{
	const struct scan_options scan = {
		.question = *question,
		.threads = threads,
		.add = program_ends_add,
		.context = workers,
	};
	_cleanup_(scanned_done) struct scanned scanned = { 0 };
	int r = scan_run(reader, &scan, &scanned, error);
	for (unsigned int i = 1; r == 0 && i < threads; i++)
		r = program_ends_merge(&workers[0], &workers[i]);
	return r;
}

int program_ends_read(struct store_reader *reader, const struct question *question,
		      unsigned int threads, struct program_ends *ends, struct error *error)
{
	_cleanup_free_ struct program_ends *workers = calloc(threads, sizeof(*workers));
	int r = workers ? program_ends_scan(reader, question, threads, workers, error) : -ENOMEM;

	if (r == 0) {
		*ends = workers[0];
		workers[0] = (struct program_ends){ 0 };
		program_ends_finish(ends);
	}
	for (unsigned int i = 0; workers && i < threads; i++)
		program_ends_done(&workers[i]);
	return r;
}
