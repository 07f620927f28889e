// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/trace.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mutation.h"
#include "recorder/trace/exec-counts.h"
#include "recorder/trace/trace-decode.h"
#include "recorder/trace/trace-paths.h"
#include "tape/tape-events.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)

/* The fields that each role uses. */
#define FIELDS 3
static const char *const field_names[][FIELDS] = {
	[TRACE_MADE] = { "root", "id", "path" },
	[TRACE_REMOVED] = { "root", "id", "path" },
	[TRACE_RELEASED] = { "root", "id", "path" },
	[TRACE_VICTIM] = { "pid", "comm" },
	[TRACE_TIMEOUT] = { "name", "driver", "queue_index" },
	[TRACE_EXEC] = { "filename" },
};

struct kind {
	const struct trace_event *event;
	uint32_t fields[FIELDS];
	/*
	 * the present second of the perf clock, and the number of events that were kept in this
	 * second
	 */
	uint64_t second;
	uint64_t kept;
	/*
	 * the number of events that were not kept, and their times, since the tape last got this
	 * number
	 */
	uint64_t dropped, dropped_from_ns, dropped_to_ns;
};

struct trace {
	struct trace_options options;
	struct dead_cgroups *dying;
	struct exec_counts *exec_counts;
	/* in the order of the set */
	struct kind *kinds;
	struct trace_paths execs;
	/* the name of the exec event; NULL: this kernel does not have it */
	const char *exec;
};

static void trace_find_fields(struct kind *kind, const struct trace_event *event)
{
	kind->event = event;
	for (size_t i = 0; i < FIELDS; i++) {
		const char *name = event->role == TRACE_PLAIN ? NULL : field_names[event->role][i];

		kind->fields[i] = name ? trace_format_field(event->format, name) : TRACE_NO_FIELD;
	}
}

int trace_new(const struct trace_options *options, struct trace **ret_trace)
{
	_cleanup_(cleanup_trace) struct trace *trace = calloc(1, sizeof(*trace));
	size_t count = options->set->events.count;

	if (!trace)
		return -ENOMEM;
	trace->options = *options;
	trace->kinds = calloc(MAX(count, (size_t)1), sizeof(*trace->kinds));
	if (!trace->kinds || dead_cgroups_new(&trace->dying) < 0 ||
	    exec_counts_new(&trace->exec_counts) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		trace_find_fields(&trace->kinds[i], &options->set->events.items[i]);
		if (trace->kinds[i].event->role == TRACE_EXEC)
			trace->exec = trace->kinds[i].event->format->name;
	}
	*ret_trace = take_ptr(trace);
	return 0;
}

struct trace *trace_free(struct trace *trace)
{
	if (!trace)
		return NULL;
	dead_cgroups_free(trace->dying);
	exec_counts_free(trace->exec_counts);
	trace_paths_done(&trace->execs);
	free(trace->kinds);
	free(trace);
	return NULL;
}

void trace_lost(struct trace *trace, uint64_t count, uint64_t time_ns)
{
	dead_cgroups_lost(trace->dying, count, time_ns);
}

const struct dead_cgroups *trace_dying(const struct trace *trace)
{
	return trace->dying;
}

/* The present event, and the objects that handle it. */
struct turn {
	struct trace *trace;
	struct kind *kind;
	const struct perf_record *record;
	struct trace_raw raw;
	struct tape_builder *builder;
};

/* Copies a text field and adds a NUL. */
static bool get_text(const struct turn *turn, size_t field, char text[TRACE_VALUE_MAX])
{
	const char *from;
	size_t size;

	if (!trace_text(turn->kind->event->format, &turn->raw, turn->kind->fields[field], &from,
			&size))
		return false;
	size = MIN(size, (size_t)TRACE_VALUE_MAX - 1);
	memcpy(text, from, size);
	text[size] = 0;
	return true;
}

static bool get_number(const struct turn *turn, size_t field, uint64_t *ret_value)
{
	return trace_number(turn->kind->event->format, &turn->raw, turn->kind->fields[field],
			    ret_value);
}

static struct dying_process actor_of(const struct turn *turn)
{
	const struct perf_record *record = turn->record;

	return (struct dying_process){
		tracker_comm(turn->builder->tracker, record->pid, record->tid), record->pid
	};
}

static int count_cgroup(const struct turn *turn)
{
	struct dead_cgroups *dying = turn->trace->dying;
	const struct dying_process by = actor_of(turn);
	char path[TRACE_VALUE_MAX];
	struct dead_cgroups_key key;

	if (!get_number(turn, 0, &key.root) || !get_number(turn, 1, &key.id) ||
	    !get_text(turn, 2, path))
		return 0;
	switch (turn->kind->event->role) {
	case TRACE_MADE:
		return exec_counts_made(turn->trace->exec_counts, key.root, path) < 0
			       ? -ENOMEM
			       : dead_cgroups_made(dying, &key, &by);
	case TRACE_REMOVED:
		return dead_cgroups_removed(dying, &key, path, &by, turn->record->time_ns);
	default:
		dead_cgroups_gone(dying, &key, path);
		return 0;
	}
}

static void report_timeout(const struct turn *turn)
{
	const struct trace_options *options = &turn->trace->options;
	char name[TRACE_VALUE_MAX], driver[TRACE_VALUE_MAX], line[160];
	uint64_t queue;

	if (!options->timeout || !get_text(turn, 0, name) || !get_text(turn, 1, driver) ||
	    !get_number(turn, 2, &queue))
		return;
	snprintf(line, sizeof(line), "net:net_dev_xmit_timeout: dev=%.40s driver=%.40s queue=%llu",
		 name, driver, (unsigned long long)queue);
	options->timeout(options->context, turn->record->time_ns, line);
}

static int count_exec(const struct turn *turn)
{
	const char *path;
	size_t size;

	if (!trace_text(turn->kind->event->format, &turn->raw, turn->kind->fields[0], &path, &size))
		return 0;
	return trace_paths_count(&turn->trace->execs, path, size, turn->record->time_ns);
}

/* Counts and reports the event according to its role. Called also for events that are not kept. */
static int trace_count(const struct turn *turn)
{
	switch (turn->kind->event->role) {
	case TRACE_MADE:
	case TRACE_REMOVED:
	case TRACE_RELEASED:
		return count_cgroup(turn);
	case TRACE_TIMEOUT:
		report_timeout(turn);
		return 0;
	case TRACE_EXEC:
		return count_exec(turn);
	default:
		return 0;
	}
}

static bool trace_admit(struct kind *kind, uint64_t time_ns)
{
	uint64_t second = time_ns / NSEC_PER_SEC;

	if (kind->event->role == TRACE_EXEC && !kind->event->asked)
		return false;
	if (kind->second != second) {
		kind->second = second;
		kind->kept = 0;
	}
	if (kind->kept++ < TRACE_KEPT_A_SECOND)
		return true;
	if (!kind->dropped++)
		kind->dropped_from_ns = time_ns;
	kind->dropped_to_ns = MAX(kind->dropped_to_ns, time_ns);
	return false;
}

struct putting {
	struct tape *tape;
	struct tape_event event;
	const char *name;
	/* the tape already has the event, which the first valid field adds */
	bool is_put;
};

static int trace_put_event(struct putting *putting)
{
	putting->is_put = true;
	return tape_add_event(putting->tape, &putting->event, putting->name);
}

static int trace_put_field(void *context, const char *name, const char *value, size_t size)
{
	struct putting *putting = context;
	int r = putting->is_put ? 0 : trace_put_event(putting);

	return r == 0 ? tape_add_event_field(putting->tape, name, value, size) : r;
}

/* Adds the name of the victim, because the event of an old kernel has only the pid. */
static int name_victim(const struct turn *turn, struct tape *tape)
{
	const char *comm;
	uint64_t pid;

	if (turn->kind->fields[1] != TRACE_NO_FIELD || !get_number(turn, 0, &pid))
		return 0;
	comm = tracker_comm(turn->builder->tracker, pid, pid);
	return tape_add_event_field(tape, "comm", comm, strlen(comm));
}

static int trace_keep(const struct turn *turn)
{
	const struct trace_format *format = turn->kind->event->format;
	struct putting putting = {
		.tape = turn->builder->tape,
		.event.time_ns = turn->record->time_ns,
		.event.cpu = turn->record->cpu != UINT32_MAX ? turn->record->cpu : 0,
		.name = format->name,
	};
	int r = tape_builder_add_thread(turn->builder, turn->record, &putting.event.thread);

	if (r < 0)
		return r;
	r = trace_decode(format, &turn->raw, trace_put_field, &putting);
	if (r < 0)
		return r;
	if (!putting.is_put)
		r = trace_put_event(&putting);
	if (r < 0 || turn->kind->event->role != TRACE_VICTIM)
		return r;
	return name_victim(turn, putting.tape);
}

int trace_take(struct trace *trace, const struct perf_record *record, struct tape_builder *builder)
{
	struct turn turn = { .trace = trace,
			     .record = record,
			     .raw = { record->sample.raw, record->sample.raw_size },
			     .builder = builder };
	const struct trace_event *event = trace_set_find(trace->options.set, trace_id(&turn.raw));
	int r;

	if (!event)
		return -EBADMSG;
	if (event->role == TRACE_RELEASED && mutated("forget-release"))
		return 0;
	turn.kind = &trace->kinds[event - trace->options.set->events.items];
	r = trace_count(&turn);
	return r == 0 && trace_admit(turn.kind, record->time_ns) ? trace_keep(&turn) : r;
}

static int put_dropped(const struct kind *kind, struct tape *tape, struct losses *losses,
		       uint64_t time_ns)
{
	struct tape_event event = { .time_ns = MIN(MAX(kind->dropped_to_ns, tape->begin_ns),
						   time_ns) };
	int r = tape_add_no_thread(tape, &event.thread);

	if (r < 0)
		return r;
	r = tape_add_count(tape, &event, kind->event->format->name, kind->dropped,
			   event.time_ns - MIN(kind->dropped_from_ns, event.time_ns));
	if (r < 0)
		return r;
	return losses_events(losses, TAPE_ALL_CPUS, kind->dropped_from_ns, kind->dropped_to_ns + 1,
			     kind->dropped);
}

/* Puts the number of events over the limit into the tape and the losses. */
static int give_dropped(struct kind *kind, struct tape *tape, struct losses *losses,
			uint64_t time_ns)
{
	int r;

	if (!kind->dropped)
		return 0;
	r = put_dropped(kind, tape, losses, time_ns);
	kind->dropped = kind->dropped_to_ns = 0;
	return r;
}

int trace_give(struct trace *trace, struct tape *tape, struct losses *losses, uint64_t until_ns,
	       bool last)
{
	uint64_t time_ns = MAX(until_ns, tape->begin_ns + 1) - 1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < trace->options.set->events.count; i++)
		r = give_dropped(&trace->kinds[i], tape, losses, time_ns);
	if (r < 0)
		return r;
	if (last || time_ns >= trace->execs.since_ns + MINUTE_NS)
		r = trace_paths_put(&trace->execs, trace->exec, tape, time_ns);
	if (r < 0)
		return r;
	r = exec_counts_give(trace->exec_counts, tape, time_ns, last);
	return r == 0 ? dead_cgroups_give(trace->dying, tape, time_ns) : r;
}
