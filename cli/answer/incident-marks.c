// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/incident-marks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

void incident_marks_done(struct incident_marks *marks)
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
 * Keeps the text of the first line, or of the first line whose kind is the episode's kind. For an
 * OOM kill, this line says which process was killed.
 */
static int keep_text(const struct book *book, const struct book_row *row, struct mark *mark,
		     struct incident_marks_extent *extent)
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

static int incident_marks_add_row(struct incident_marks *marks, const struct book *book,
				  const struct book_row *row, size_t *number)
{
	struct incident_marks_extent *extent;
	struct mark *mark;

	if (!*number) {
		if (array_push(&marks->list, (struct mark){ .time_ns = row->time_ns }) < 0 ||
		    array_push(&marks->extents, (struct incident_marks_extent){ 0 }) < 0)
			return -ENOMEM;
		*number = marks->list.count;
	}
	extent = &marks->extents.items[*number - 1];
	extent->until_ns = row->time_ns;
	extent->lines++;
	mark = &marks->list.items[*number - 1];
	if (row->stall_ns && row->stall_ns < mark->time_ns &&
	    (!mark->stall_ns || row->stall_ns < mark->stall_ns))
		mark->stall_ns = row->stall_ns;
	return keep_text(book, row, mark, extent);
}

/*
 * Puts the extent into the mark's text: "oom.kill  3 lines in 20 ms: Out of memory: ..." or
 * "ena.tx_stall  6.5 s stall: ...".
 */
static int prefix_extent(struct mark *mark, const struct incident_marks_extent *extent)
{
	const char *behind = strstr(mark->what, "  ");
	char length[32], lines[64] = "", stall[64] = "", *what;

	if (!behind || (extent->lines == 1 && !mark->stall_ns))
		return 0;
	if (extent->lines > 1)
		snprintf(lines, sizeof(lines), "%" PRIu64 " lines in %s", extent->lines,
			 duration_format(extent->until_ns - mark->time_ns, length, sizeof(length)));
	if (mark->stall_ns)
		snprintf(stall, sizeof(stall), "%s stall",
			 duration_format(mark->time_ns - mark->stall_ns, length, sizeof(length)));
	if (asprintf(&what, "%.*s  %s%s%s: %s", (int)(behind - mark->what), mark->what, stall,
		     *stall && *lines ? ", " : "", lines, behind + 2) < 0)
		return -ENOMEM;
	free((char *)mark->what);
	mark->what = what;
	return 0;
}

/* Returns whether the line, or the stall that the line reports, lies in the window. */
static bool incident_marks_touch(const struct book_row *row, const struct window *window)
{
	uint64_t begin_ns = row->stall_ns ? MIN(row->stall_ns, row->time_ns) : row->time_ns;

	return row->time_ns >= window->from_ns && begin_ns < window->to_ns;
}

int incident_marks_make(const struct book *book, const struct window *window,
			struct incident_marks *ret_marks)
{
	/* For each episode, the number of its mark plus 1; 0: no mark yet. */
	_cleanup_free_ size_t *numbers = calloc(book->episodes.list.count + 1, sizeof(*numbers));
	int r = numbers ? 0 : -ENOMEM;

	*ret_marks = (struct incident_marks){ 0 };
	for (size_t i = 0; r == 0 && i < book->rows.count; i++) {
		const struct book_row *row = &book->rows.items[i];

		if (incident_marks_touch(row, window))
			r = incident_marks_add_row(ret_marks, book, row, &numbers[row->episode]);
	}
	for (size_t i = 0; r == 0 && i < ret_marks->list.count; i++)
		r = prefix_extent(&ret_marks->list.items[i], &ret_marks->extents.items[i]);
	return r;
}

void incident_marks_put_json(const struct incident_marks *marks, struct buffer *json)
{
	for (size_t i = 0; i < marks->list.count; i++) {
		json_open(json, '{');
		json_time(json, "time", marks->list.items[i].time_ns);
		json_key(json, "incident");
		json_string(json, marks->list.items[i].what);
		json_time_or_null(json, "stall_start", marks->list.items[i].stall_ns);
		json_time(json, "until", marks->extents.items[i].until_ns);
		json_key(json, "lines");
		json_u64(json, marks->extents.items[i].lines);
		json_close(json, '}');
		buffer_u8(json, '\n');
	}
}
