// SPDX-License-Identifier: GPL-2.0-only
#include "query/window/filter.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/window/glob.h"

void filter_done(struct filter *filter)
{
	cpu_filter_done(&filter->cpus);
	array_done(&filter->pids.list);
	array_done(&filter->tids.list);
}

/*
 * Parses a number at *at and moves *at behind the number. Returns -1 if there is no number or if it
 * is too large.
 */
static int64_t take_id(const char **at)
{
	int64_t id = 0;

	if (!isdigit((unsigned char)**at))
		return -1;
	while (isdigit((unsigned char)**at)) {
		id = id * 10 + (*(*at)++ - '0');
		if (id > INT32_MAX)
			return -1;
	}
	return id;
}

static int parse_list(const char *at, struct filter_ids *ids)
{
	for (;;) {
		int64_t id = take_id(&at);

		if (id < 0)
			return -EINVAL;
		if (array_push(&ids->list, id) < 0)
			return -ENOMEM;
		if (!*at)
			return 0;
		if (*at++ != ',')
			return -EINVAL;
	}
}

int filter_parse_ids(const char *text, struct filter_ids *ret_ids, struct error *error)
{
	struct filter_ids ids = { 0 };
	int r = parse_list(text, &ids);

	if (r == -EINVAL)
		error_set(error, r,
			  "\"%.60s\" is not a list of PIDs or TIDs; use 1240 or 1240,1262", text);
	if (r < 0) {
		array_done(&ids.list);
		return r;
	}
	array_done(&ret_ids->list);
	*ret_ids = ids;
	return 0;
}

bool filter_has_threads(const struct filter *filter)
{
	return filter->pids.list.count || filter->tids.list.count || filter->comm || filter->cgroup;
}

bool filter_passes_all(const struct filter *filter)
{
	return !filter_has_threads(filter) && !filter->cpus.wanted.count && !filter->no_idle &&
	       filter->frames == FILTER_FRAMES_ALL;
}

bool filter_is_by_comm(const struct filter *filter)
{
	return !filter->cpus.wanted.count && !filter->pids.list.count && !filter->tids.list.count &&
	       !filter->cgroup && !filter->no_idle && filter->frames == FILTER_FRAMES_ALL;
}

static bool passes_id(const struct filter_ids *ids, int32_t id)
{
	for (size_t i = 0; i < ids->list.count; i++)
		if (ids->list.items[i] == id)
			return true;
	return !ids->list.count;
}

bool filter_passes_comm(const struct filter *filter, const char *comm)
{
	return glob_passes(filter->comm, comm);
}

bool filter_may_pass_unnamed(const struct filter *filter)
{
	return !filter->comm || strchr(":*?[\\", *filter->comm);
}

const char *filter_shown_comm(const struct tape *tape, const struct tape_thread *thread,
			      char number[FILTER_COMM_SIZE])
{
	if (thread->comm)
		return tape_string(tape, thread->comm);
	snprintf(number, FILTER_COMM_SIZE, ":%d", thread->tid);
	return number;
}

int filter_threads(const struct filter *filter, const struct tape *tape, bool **ret_passes)
{
	bool *passes = malloc(MAX(tape->threads.count, (size_t)1) * sizeof(*passes));

	if (!passes)
		return -ENOMEM;
	for (size_t i = 0; i < tape->threads.count; i++) {
		const struct tape_thread *thread = &tape->threads.items[i];
		char number[FILTER_COMM_SIZE];

		passes[i] = passes_id(&filter->pids, thread->pid) &&
			    passes_id(&filter->tids, thread->tid) &&
			    filter_passes_comm(filter, filter_shown_comm(tape, thread, number)) &&
			    glob_passes(filter->cgroup, tape_string(tape, thread->cgroup));
	}
	*ret_passes = passes;
	return 0;
}

static void put_ids(const char **separator, const char *name, const struct filter_ids *ids,
		    struct buffer *text)
{
	for (size_t i = 0; i < ids->list.count; i++)
		buffer_printf(text, "%s%s%d", i ? "," : *separator, i ? "" : name,
			      ids->list.items[i]);
	if (ids->list.count)
		*separator = ", ";
}

static void put_pattern(const char **separator, const char *name, const char *pattern,
			struct buffer *text)
{
	if (!pattern)
		return;
	buffer_printf(text, "%s%s%s", *separator, name, pattern);
	*separator = ", ";
}

void filter_describe_threads(const struct filter *filter, struct buffer *text)
{
	const char *separator = "";

	put_ids(&separator, "pid ", &filter->pids, text);
	put_ids(&separator, "tid ", &filter->tids, text);
	put_pattern(&separator, "comm ", filter->comm, text);
	put_pattern(&separator, "cgroup ", filter->cgroup, text);
	put_pattern(&separator, "", filter->no_idle ? "without idle" : NULL, text);
	put_pattern(&separator, "",
		    filter->frames == FILTER_FRAMES_KERNEL ? "kernel frames"
		    : filter->frames == FILTER_FRAMES_USER ? "user frames"
							   : NULL,
		    text);
}
