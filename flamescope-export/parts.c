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
#define NAME_MAX_BYTES 200 /* without number and suffix; a whole file name has at most 255 */

/* The parts under construction. The number of a title minus one is the index of its part. */
struct parts_builder {
	const struct selection *selection;
	enum parts_by by;
	struct strings titles, names;
	struct parts *parts;
};

static char *title_of(const struct parts_builder *builder, const struct selection_row *row)
{
	const struct tape *tape = builder->selection->tapes.items[row->tape];
	const struct tape_sample *sample = &tape->samples.items[row->sample];
	const struct tape_thread *thread = &tape->threads.items[sample->thread];
	char number[FILTER_COMM_SIZE], *title = NULL;
	int r;

	if (builder->by == PARTS_CPU)
		r = asprintf(&title, "cpu %u", sample->cpu);
	else if (builder->by == PARTS_PID)
		r = asprintf(&title, "pid %d", thread->pid);
	else
		r = asprintf(&title, "comm %s", filter_shown_comm(tape, thread, number));
	return r < 0 ? NULL : title;
}

/*
 * Returns a name of characters that Flamescope accepts in file names. The number of a CPU has
 * leading zeros, so that files sort in order.
 */
static char *plain_name(const struct parts_builder *builder, const char *title)
{
	char *name = NULL;
	int r = builder->by == PARTS_CPU
			? asprintf(&name, "cpu-%03lu", strtoul(title + 4, NULL, 10))
			: asprintf(&name, "%.*s", NAME_MAX_BYTES, title);

	if (r < 0)
		return NULL;
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			*at = at == strchr(name, ' ') ? '-' : '_';
	return name;
}

/*
 * Appends numbers to equal names. Different comms may have equal names, because file names allow
 * fewer characters.
 */
static int name_part(struct parts_builder *builder, struct part *part)
{
	_cleanup_free_ char *plain = plain_name(builder, part->title);
	uint32_t before = strings_count(&builder->names), id;

	if (!plain)
		return -ENOMEM;
	for (int number = 1;; number++) {
		char suffix[16] = "";

		free(take_ptr(part->name));
		if (number > 1)
			snprintf(suffix, sizeof(suffix), "-%d", number);
		if (asprintf(&part->name, "%s%s%s", plain, suffix, SUFFIX) < 0 ||
		    strings_add(&builder->names, part->name, strlen(part->name), &id) < 0)
			return -ENOMEM;
		if (id == before)
			return 0;
	}
}

static int add_part(struct parts_builder *builder, const char *title)
{
	struct part part = {
		.selection = {
			.window = builder->selection->window,
			.tapes = builder->selection->tapes,
			.coverage = builder->selection->coverage,
			.opened = builder->selection->opened,
		},
	};
	int r;

	part.title = strdup(title);
	r = part.title ? name_part(builder, &part) : -ENOMEM;
	if (r == 0)
		r = array_push(&builder->parts->list, part);
	if (r < 0) {
		free(part.title);
		free(part.name);
	}
	return r;
}

static int parts_add_row(struct parts_builder *builder, const struct selection_row *row)
{
	_cleanup_free_ char *title = title_of(builder, row);
	uint32_t id;

	if (!title || strings_add(&builder->titles, title, strlen(title), &id) < 0)
		return -ENOMEM;
	if (id > builder->parts->list.count && add_part(builder, title) < 0)
		return -ENOMEM;
	return array_push(&builder->parts->list.items[id - 1].selection.rows, *row);
}

int parts_make(const struct selection *selection, enum parts_by by, struct parts *ret_parts)
{
	struct parts parts = { 0 };
	struct parts_builder builder = { .selection = selection, .by = by, .parts = &parts };
	int r = 0;

	for (size_t i = 0; r == 0 && i < selection->rows.count; i++)
		r = parts_add_row(&builder, &selection->rows.items[i]);
	strings_done(&builder.titles);
	strings_done(&builder.names);
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

/* Returns whether the file has the name of a part by CPU, comm or process. */
static bool is_named_as_part(const char *name)
{
	static const char *const prefixes[] = { "cpu-", "comm-", "pid-" };
	size_t size = strlen(name), end = strlen(SUFFIX);

	if (size < end || strcmp(name + size - end, SUFFIX) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
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
