// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/trace-set.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "recorder/trace/tracefs.h"

static const struct {
	const char *name;
	enum trace_role role;
} always[] = {
	{ "cgroup:cgroup_mkdir", TRACE_MADE },	       { "cgroup:cgroup_rmdir", TRACE_REMOVED },
	{ "cgroup:cgroup_release", TRACE_RELEASED },   { "oom:mark_victim", TRACE_VICTIM },
	{ "net:net_dev_xmit_timeout", TRACE_TIMEOUT }, { "sched:sched_process_exec", TRACE_EXEC },
};

struct trace_set *trace_set_close(struct trace_set *set)
{
	if (!set)
		return NULL;
	for (size_t i = 0; i < set->events.count; i++)
		trace_format_free(set->events.items[i].format);
	array_done(&set->events);
	array_done(&set->always);
	array_done(&set->asked);
	free(set);
	return NULL;
}

const struct trace_event *trace_set_find(const struct trace_set *set, uint16_t id)
{
	for (size_t i = 0; i < set->events.count; i++)
		if (set->events.items[i].format->id == id)
			return &set->events.items[i];
	return NULL;
}

static struct trace_event *find_name(struct trace_set *set, const char *name)
{
	for (size_t i = 0; i < set->events.count; i++)
		if (strcmp(set->events.items[i].format->name, name) == 0)
			return &set->events.items[i];
	return NULL;
}

/* Returns the size of a word that can safely become part of a path. */
static size_t trace_set_word_size(const char *text)
{
	size_t size = 0;

	while (isalnum((unsigned char)text[size]) || text[size] == '_' ||
	       (size && text[size] == '-'))
		size++;
	return size;
}

static size_t name_size(const char *text)
{
	size_t system = trace_set_word_size(text);
	size_t event = text[system] == ':' ? trace_set_word_size(text + system + 1) : 0;
	size_t size = system + 1 + event;

	return system && event && size < NAME_MAX ? size : 0;
}

bool trace_set_check(const char *asked)
{
	for (;;) {
		size_t size = name_size(asked);

		if (!size || (asked[size] && asked[size] != ','))
			return false;
		if (!asked[size])
			return true;
		asked += size + 1;
	}
}

/*
 * Reads the format of an event. Returns 0, the error of the read, or -EBADMSG if the file does not
 * describe an event.
 */
static int read_format(const struct tracefs *tracefs, const char *name,
		       struct trace_format **ret_format)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	char system[NAME_MAX] = "";
	size_t colon = strcspn(name, ":"), size;
	int r;

	memcpy(system, name, colon);
	if (asprintf(&path, "%s/%s/%s/format", tracefs->events, system, name + colon + 1) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = file_read(path, TRACE_FORMAT_MAX, &text, &size);
	return r == 0 ? trace_format_parse(system, text, size, ret_format) : r;
}

static int trace_set_add(struct trace_set *set, const struct tracefs *tracefs, const char *name,
			 enum trace_role role, bool asked)
{
	struct trace_event event = { .role = role, .asked = asked };
	int r = read_format(tracefs, name, &event.format);

	if (r < 0)
		return r;
	if (array_push(&set->events, event) < 0) {
		trace_format_free(event.format);
		return -ENOMEM;
	}
	return asked ? array_push(&set->asked, event.format->id)
		     : array_push(&set->always, event.format->id);
}

static int add_always(struct trace_set *set, const struct tracefs *tracefs, struct buffer *lacks)
{
	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		int r = trace_set_add(set, tracefs, always[i].name, always[i].role, false);

		if (r == -ENOMEM)
			return r;
		if (r < 0)
			buffer_printf(lacks, "%s%s", lacks->size ? "," : "", always[i].name);
	}
	return 0;
}

static int add_asked(struct trace_set *set, const struct tracefs *tracefs, const char *name,
		     struct error *error)
{
	struct trace_event *there = find_name(set, name);
	int r;

	if (there) {
		there->asked = true;
		return 0;
	}
	r = trace_set_add(set, tracefs, name, TRACE_PLAIN, true);
	if (r == -ENOENT || r == -ENOTDIR)
		return error_set(
			error, -ENOENT,
			"this kernel has no trace event '%s'; `perf list tracepoint` lists them",
			name);
	if (r == -EBADMSG)
		return error_set(error, r, "trace event '%s': its format is not known", name);
	return r < 0 && r != -ENOMEM
		       ? error_set(error, r, "trace event '%s': %s", name, strerror(-r))
		       : r;
}

static int add_each_asked(struct trace_set *set, const struct tracefs *tracefs, const char *asked,
			  struct error *error)
{
	char name[NAME_MAX];
	int r = 0;

	while (r == 0 && asked && *asked) {
		size_t size = name_size(asked);

		if (!size)
			return error_set(error, -EINVAL, "'%s' is not SYSTEM:EVENT", asked);
		memcpy(name, asked, size);
		name[size] = 0;
		r = add_asked(set, tracefs, name, error);
		asked += size + (asked[size] == ',');
	}
	return r;
}

static int do_without_tracefs(int r, const char *asked, struct buffer *lacks, struct error *error)
{
	if (!asked || !*asked) {
		buffer_printf(lacks, "%stracefs", lacks->size ? "," : "");
		return 0;
	}
	if (r == -ENOENT)
		return error_set(error, r, "trace events need tracefs: mount -t tracefs tracefs %s",
				 TRACEFS_PLACE);
	return error_set(error, r, "%s: cannot read it; run as root or with CAP_DAC_READ_SEARCH",
			 TRACEFS_PLACE);
}

int trace_set_open(const char *root, const char *asked, struct trace_set **ret_set,
		   struct buffer *lacks, struct error *error)
{
	_cleanup_(cleanup_trace_set) struct trace_set *set = calloc(1, sizeof(*set));
	struct tracefs tracefs;
	int r;

	if (!set)
		return -ENOMEM;
	r = tracefs_open(root, &tracefs);
	if (r < 0)
		r = do_without_tracefs(r, asked, lacks, error);
	else
		r = add_always(set, &tracefs, lacks);
	if (r == 0)
		r = add_each_asked(set, &tracefs, asked, error);
	tracefs_close(&tracefs);
	if (r < 0)
		return r;
	*ret_set = take_ptr(set);
	return 0;
}
