// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct selection *selection_free(struct selection *selection)
{
	if (!selection)
		return NULL;
	for (size_t i = 0; i < selection->tapes.count; i++)
		tape_free(selection->tapes.items[i]);
	array_done(&selection->tapes);
	array_done(&selection->rows);
	array_done(&selection->coverage.gaps);
	free(selection);
	return NULL;
}

/* The cursor's number of each tape in the selection. Only tapes with rows are in the selection. */
struct numbers {
	array_of(uint32_t) list;
};

static void numbers_done(struct numbers *numbers)
{
	array_done(&numbers->list);
}

/* Searches from the end, because the tapes that are open now were added last. */
static int find_tape(struct selection *selection, struct numbers *numbers, struct cursor *cursor,
		     const struct cursor_row *row, uint32_t *ret_tape)
{
	for (size_t i = numbers->list.count; i-- > 0;)
		if (numbers->list.items[i] == row->number) {
			*ret_tape = i;
			return 0;
		}
	if (array_push(&numbers->list, row->number) < 0 ||
	    array_push(&selection->tapes, row->tape) < 0)
		return -ENOMEM;
	cursor_keep_tape(cursor);
	*ret_tape = selection->tapes.count - 1;
	return 0;
}

static int selection_add_rows(struct selection *selection, struct numbers *numbers,
			      struct cursor *cursor, struct error *error)
{
	struct cursor_row row;
	int r;

	while ((r = cursor_next(cursor, &row, error)) > 0) {
		struct selection_row added = { .realtime_ns = row.realtime_ns,
					       .sample = row.sample };

		if (find_tape(selection, numbers, cursor, &row, &added.tape) < 0 ||
		    array_push(&selection->rows, added) < 0)
			return -ENOMEM;
	}
	return r;
}

/* Copies the coverage, because the cursor owns the gaps. */
static int take_coverage(struct selection *selection, const struct cursor *cursor)
{
	const struct coverage *coverage = cursor_coverage(cursor);

	selection->coverage = *coverage;
	memset(&selection->coverage.gaps, 0, sizeof(selection->coverage.gaps));
	for (size_t i = 0; i < coverage->gaps.count; i++)
		if (array_push(&selection->coverage.gaps, coverage->gaps.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int selection_fill(struct selection *selection, const struct question *question,
			  struct cursor *cursor, struct error *error)
{
	_cleanup_(numbers_done) struct numbers numbers = { 0 };
	int r = cursor_set_threads(cursor, question->threads);

	if (r < 0)
		return r;
	r = selection_add_rows(selection, &numbers, cursor, error);
	if (r < 0)
		return r;
	selection->opened = cursor_segments_read(cursor);
	return take_coverage(selection, cursor);
}

int selection_make(struct store_reader *reader, const struct question *question,
		   struct selection **ret_selection, struct error *error)
{
	_cleanup_(cleanup_selection) struct selection *selection = calloc(1, sizeof(*selection));
	_cleanup_(cleanup_cursor) struct cursor *cursor = NULL;
	int r;

	if (!selection)
		return -ENOMEM;
	selection->window = question->window;
	r = cursor_open(reader, question, &cursor, error);
	if (r < 0)
		return r;
	r = selection_fill(selection, question, cursor, error);
	if (r < 0)
		return r;
	*ret_selection = take_ptr(selection);
	return 0;
}
