// SPDX-License-Identifier: GPL-2.0-only
#include "flamescope-export/parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "query/window/filter.h"

#define SUFFIX ".stacks"
#define NAME_MAX_BYTES 200 /* without what is behind it; a file's name has 255 */

/* On the way: parts by the number of their title, less one. */
struct making {
	const struct selection *selection;
	enum parts_by by;
	struct strings titles, names;
	struct parts *parts;
};

static char *title_of(const struct making *making, const struct selection_row *row)
{
	const struct tape *tape = making->selection->tapes.items[row->tape];
	const struct tape_sample *sample = &tape->samples.items[row->sample];
	const struct tape_thread *thread = &tape->threads.items[sample->thread];
	char number[FILTER_COMM_SIZE], *title = NULL;
	int r;

	if (making->by == PARTS_CPU)
		r = asprintf(&title, "cpu %u", sample->cpu);
	else if (making->by == PARTS_PID)
		r = asprintf(&title, "pid %d", thread->pid);
	else
		r = asprintf(&title, "comm %s", filter_shown_comm(tape, thread, number));
	return r < 0 ? NULL : title;
}

/* With nothing but what Flamescope takes in a file's name; a CPU's number as wide as in the text,
 * so that files are listed in order. */
static char *plain_name(const struct making *making, const char *title)
{
	char *name = NULL;
	int r = making->by == PARTS_CPU ? asprintf(&name, "cpu-%03lu", strtoul(title + 4, NULL, 10))
					: asprintf(&name, "%.*s", NAME_MAX_BYTES, title);

	if (r < 0)
		return NULL;
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			*at = at == strchr(name, ' ') ? '-' : '_';
	return name;
}

/* Two comms may look the same without the characters that no file's name has. */
static int name_part(struct making *making, struct part *part)
{
	_cleanup_free_ char *plain = plain_name(making, part->title);
	uint32_t before = strings_count(&making->names), id;

	if (!plain)
		return -ENOMEM;
	for (int again = 1;; again++) {
		char more[16] = "";

		free(take_ptr(part->name));
		if (again > 1)
			snprintf(more, sizeof(more), "-%d", again);
		if (asprintf(&part->name, "%s%s%s", plain, more, SUFFIX) < 0 ||
		    strings_add(&making->names, part->name, strlen(part->name), &id) < 0)
			return -ENOMEM;
		if (id == before)
			return 0;
	}
}

static int add_part(struct making *making, const char *title)
{
	struct part part = {
		.selection = {
			.window = making->selection->window,
			.tapes = making->selection->tapes,
			.coverage = making->selection->coverage,
			.opened = making->selection->opened,
		},
	};
	int r;

	part.title = strdup(title);
	r = part.title ? name_part(making, &part) : -ENOMEM;
	if (r == 0)
		r = array_push(&making->parts->list, part);
	if (r < 0) {
		free(part.title);
		free(part.name);
	}
	return r;
}

static int parts_add_row(struct making *making, const struct selection_row *row)
{
	_cleanup_free_ char *title = title_of(making, row);
	uint32_t id;

	if (!title || strings_add(&making->titles, title, strlen(title), &id) < 0)
		return -ENOMEM;
	if (id > making->parts->list.count && add_part(making, title) < 0)
		return -ENOMEM;
	return array_push(&making->parts->list.items[id - 1].selection.rows, *row);
}

int parts_make(const struct selection *selection, enum parts_by by, struct parts *ret_parts)
{
	struct parts parts = { 0 };
	struct making making = { .selection = selection, .by = by, .parts = &parts };
	int r = 0;

	for (size_t i = 0; r == 0 && i < selection->rows.count; i++)
		r = parts_add_row(&making, &selection->rows.items[i]);
	strings_done(&making.titles);
	strings_done(&making.names);
	if (r < 0)
		parts_done(&parts);
	else
		*ret_parts = parts;
	return r;
}

void parts_done(struct parts *parts)
{
	for (size_t i = 0; i < parts->list.count; i++) {
		free(parts->list.items[i].title);
		free(parts->list.items[i].name);
		array_done(&parts->list.items[i].selection.rows);
	}
	array_done(&parts->list);
}

static bool parts_is_part(const struct parts *parts, const char *name)
{
	for (size_t i = 0; i < parts->list.count; i++)
		if (strcmp(parts->list.items[i].name, name) == 0)
			return true;
	return false;
}

/* As a part is named, by whatever it was shared out. */
static bool is_named_as_part(const char *name)
{
	static const char *const begins[] = { "cpu-", "comm-", "pid-" };
	size_t size = strlen(name), end = strlen(SUFFIX);

	if (size < end || strcmp(name + size - end, SUFFIX) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

int parts_count_others(const struct parts *parts, const char *folder, char name[256])
{
	DIR *open = opendir(folder);
	const struct dirent *entry;
	int count = 0;

	if (!open)
		return -errno;
	while ((entry = readdir(open))) {
		if (!is_named_as_part(entry->d_name) || parts_is_part(parts, entry->d_name))
			continue;
		if (!count++ || strcmp(entry->d_name, name) < 0)
			snprintf(name, 256, "%s", entry->d_name);
	}
	closedir(open);
	return count;
}
