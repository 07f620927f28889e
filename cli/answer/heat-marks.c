// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/heat-marks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

void heat_marks_done(struct heat_marks *marks)
{
	for (size_t i = 0; i < marks->list.count; i++)
		free((char *)marks->list.items[i].what);
	array_done(&marks->list);
	array_done(&marks->extents);
}

static const struct episode *episode_of(const struct book *book, const struct book_row *row)
{
	return &book->episodes.list.items[row->episode];
}

/*
 * Keeps the text of a line whose kind is that of the episode. For an OOM kill, this line says which
 * process was killed.
 */
static int keep_text(const struct book *book, const struct book_row *row, struct heat_mark *mark,
		     struct heat_marks_extent *extent)
{
	const char *kind = book->kinds.items[row->kind].name;
	bool named = strcmp(kind, episode_of(book, row)->kind->name) == 0;
	char *what;

	if (mark->what && (extent->named || !named))
		return 0;
	if (asprintf(&what, "%s  %s", kind, book_text(book, row->text)) < 0)
		return -ENOMEM;
	free((char *)mark->what);
	mark->what = what;
	extent->named = named;
	return 0;
}

static int heat_marks_add_row(struct heat_marks *marks, const struct book *book,
			      const struct book_row *row, size_t *number)
{
	struct heat_marks_extent *extent;

	if (!*number) {
		if (array_push(&marks->list, (struct heat_mark){ .time_ns = row->time_ns }) < 0 ||
		    array_push(&marks->extents, (struct heat_marks_extent){ 0 }) < 0)
			return -ENOMEM;
		*number = marks->list.count;
	}
	extent = &marks->extents.items[*number - 1];
	extent->until_ns = row->time_ns;
	extent->lines++;
	return keep_text(book, row, &marks->list.items[*number - 1], extent);
}

/* Makes "oom.kill  3 lines in 20 ms: Out of memory: ...". */
static int prefix_extent(struct heat_mark *mark, const struct heat_marks_extent *extent)
{
	const char *behind = strstr(mark->what, "  ");
	char length[32], *what;

	if (extent->lines == 1 || !behind)
		return 0;
	if (asprintf(&what, "%.*s  %" PRIu64 " lines in %s: %s", (int)(behind - mark->what),
		     mark->what, extent->lines,
		     duration_format(extent->until_ns - mark->time_ns, length, sizeof(length)),
		     behind + 2) < 0)
		return -ENOMEM;
	free((char *)mark->what);
	mark->what = what;
	return 0;
}

int heat_marks_make(const struct book *book, const struct window *window,
		    struct heat_marks *ret_marks)
{
	/* For each episode, the number of its mark plus 1; 0: no mark yet. */
	_cleanup_free_ size_t *numbers = calloc(book->episodes.list.count + 1, sizeof(*numbers));
	int r = numbers ? 0 : -ENOMEM;

	*ret_marks = (struct heat_marks){ 0 };
	for (size_t i = 0; r == 0 && i < book->rows.count; i++) {
		const struct book_row *row = &book->rows.items[i];

		if (row->time_ns >= window->from_ns && row->time_ns < window->to_ns)
			r = heat_marks_add_row(ret_marks, book, row, &numbers[row->episode]);
	}
	for (size_t i = 0; r == 0 && i < ret_marks->list.count; i++)
		r = prefix_extent(&ret_marks->list.items[i], &ret_marks->extents.items[i]);
	return r;
}

void heat_marks_put_json(const struct heat_marks *marks, struct buffer *json)
{
	for (size_t i = 0; i < marks->list.count; i++) {
		json_open(json, '{');
		json_time(json, "time", marks->list.items[i].time_ns);
		json_key(json, "incident");
		json_string(json, marks->list.items[i].what);
		json_time(json, "until", marks->extents.items[i].until_ns);
		json_key(json, "lines");
		json_u64(json, marks->extents.items[i].lines);
		json_close(json, '}');
		buffer_u8(json, '\n');
	}
}
