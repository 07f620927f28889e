// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/trace-paths.h"

#include "base/cleanup.h"
#include "recorder/trace/trace.h"
#include "tape/tape-events.h"

void trace_paths_done(struct trace_paths *paths)
{
	strings_done(&paths->paths);
	array_done(&paths->counts);
	*paths = (struct trace_paths){ 0 };
}

/* Finds or adds a path, and sets *ret_id to its number; 0: there are too many paths. */
static int find_path(struct trace_paths *paths, const char *path, size_t size, uint32_t *ret_id)
{
	*ret_id = strings_find(&paths->paths, path, size);
	if (*ret_id || strings_count(&paths->paths) > TRACE_PATHS_MAX)
		return 0;
	return strings_add(&paths->paths, path, size, ret_id);
}

int trace_paths_count(struct trace_paths *paths, const char *path, size_t size, uint64_t time_ns)
{
	uint32_t id;
	int r = find_path(paths, path, size, &id);

	while (r == 0 && paths->counts.count <= id)
		r = array_push(&paths->counts, 0);
	if (r < 0)
		return r;
	if (!paths->total++ && !paths->since_ns)
		paths->since_ns = time_ns;
	paths->counts.items[id]++;
	return 0;
}

struct row {
	uint64_t count;
	const char *path;
};

static int trace_paths_compare_rows(const void *a, const void *b)
{
	const struct row *one = a, *other = b;

	if (one->count != other->count)
		return one->count < other->count ? 1 : -1;
	return strcmp(one->path, other->path);
}

static int trace_paths_put_rows(const struct trace_paths *paths, struct tape *tape)
{
	struct row rows[TRACE_PATHS_MAX + 2];
	size_t count = 0;
	int r = 0;

	for (size_t i = 1; i < paths->counts.count; i++)
		if (paths->counts.items[i])
			rows[count++] = (struct row){ paths->counts.items[i],
						      strings_at(&paths->paths, i) };
	qsort(rows, count, sizeof(*rows), trace_paths_compare_rows);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = tape_add_event_number(tape, rows[i].path, rows[i].count);
	if (r < 0)
		return r;
	if (paths->counts.items[0])
		return tape_add_event_number(tape, TAPE_EVENT_OTHERS, paths->counts.items[0]);
	return 0;
}

static int trace_paths_put_all(const struct trace_paths *paths, const char *name, struct tape *tape,
			       uint64_t time_ns)
{
	struct tape_event event = { .time_ns = time_ns };
	int r = tape_add_no_thread(tape, &event.thread);

	if (r < 0)
		return r;
	r = tape_add_count(tape, &event, name, paths->total,
			   time_ns - MIN(paths->since_ns, time_ns));
	return r < 0 ? r : trace_paths_put_rows(paths, tape);
}

int trace_paths_put(struct trace_paths *paths, const char *name, struct tape *tape,
		    uint64_t time_ns)
{
	int r;

	if (!paths->total)
		return 0;
	r = trace_paths_put_all(paths, name, tape, time_ns);
	trace_paths_done(paths);
	paths->since_ns = time_ns;
	return r;
}
