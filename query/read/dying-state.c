// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/dying-state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "tape/tape-events.h"

/*
 * The recorder makes the events every minute while any cgroup is dying, and reads its clocks every
 * ten seconds. If the last events are older than this, no cgroup is dying any more.
 */
#define FRESH_NS (80 * NSEC_PER_SEC)
/* The events of one moment have the same perf time, so their wall clock times hardly differ. */
#define SAME_NS NSEC_PER_MSEC

void dying_state_done(struct dying_state *state)
{
	array_done(&state->kinds);
}

static int add_kind(struct dying_state *state, const struct tape *tape,
		    const struct tape_event *event)
{
	struct dying_state_kind kind = {
		.count = tape_event_number(tape, event, TAPE_DYING_COUNT),
		.oldest_s = tape_event_number(tape, event, TAPE_DYING_OLDEST),
		.made_by_pid = tape_event_number(tape, event, TAPE_DYING_MADE_BY_PID),
		.removed_by_pid = tape_event_number(tape, event, TAPE_DYING_REMOVED_BY_PID),
	};

	tape_event_copy(tape, event, TAPE_DYING_PREFIX, kind.prefix, sizeof(kind.prefix));
	tape_event_copy(tape, event, TAPE_DYING_MADE_BY, kind.made_by, sizeof(kind.made_by));
	tape_event_copy(tape, event, TAPE_DYING_REMOVED_BY, kind.removed_by,
			sizeof(kind.removed_by));
	state->counted_s = tape_event_number(tape, event, TAPE_DYING_COUNTED);
	state->unsure = tape_event_number(tape, event, TAPE_DYING_UNSURE);
	state->count += kind.count;
	return array_push(&state->kinds, kind);
}

/*
 * Returns true if the events of a moment tell more about the end of a window than the events that
 * were taken so far.
 */
static bool dying_state_is_better(const struct dying_state *state, uint64_t time_ns, uint64_t to_ns)
{
	if (!state->at_ns)
		return true;
	if (state->at_ns < to_ns)
		return time_ns > state->at_ns + SAME_NS && time_ns < to_ns;
	return time_ns + SAME_NS < state->at_ns;
}

/* Takes the events of the last moment before `to_ns`, or else of the first one after it. */
static int take_tape(struct dying_state *state, const struct tape *tape, uint64_t to_ns)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < tape->events.count; i++) {
		const struct tape_event *event = &tape->events.items[i];
		uint64_t time_ns;

		if (strcmp(tape_string(tape, event->name), TAPE_EVENT_DYING) != 0)
			continue;
		time_ns = tape_to_realtime(tape, event->time_ns, NULL);
		if (dying_state_is_better(state, time_ns, to_ns)) {
			state->kinds.count = 0;
			state->count = 0;
			state->at_ns = time_ns;
		}
		if (time_ns <= state->at_ns + SAME_NS && time_ns + SAME_NS >= state->at_ns)
			r = add_kind(state, tape, event);
	}
	return r;
}

/* Sets *ret_end_ns to the end of what is recorded in [from, to); 0: nothing. */
static int dying_state_find_end(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
				uint64_t *ret_end_ns, struct error *error)
{
	struct store_segments segments = { 0 };
	int r = store_reader_list(reader, from_ns, to_ns, &segments, error);

	*ret_end_ns = 0;
	for (size_t i = 0; i < segments.list.count; i++)
		*ret_end_ns = MAX(*ret_end_ns, MIN(segments.list.items[i].end_ns, to_ns));
	array_done(&segments.list);
	return r;
}

/*
 * Reads the segments near the end. The end of a spool is the time of its last event, so this
 * function reads one second further.
 */
static int take_segments(struct store_reader *reader, uint64_t end_ns, struct dying_state *state,
			 struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_CONTEXT, 1 };
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = store_reader_find(reader, end_ns - MIN(end_ns, FRESH_NS), end_ns + NSEC_PER_SEC,
				  &segments, error);

	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = NULL;
		int loaded = store_reader_load(reader, &segments.list.items[i], &want, &tape, NULL);

		if (loaded == 0)
			r = take_tape(state, tape, end_ns);
		else if (error_is_exhaustion(loaded))
			r = loaded;
	}
	return r;
}

static int dying_state_compare(const void *a, const void *b)
{
	const struct dying_state_kind *one = a, *other = b;

	if (one->count != other->count)
		return one->count < other->count ? 1 : -1;
	return strcmp(one->prefix, other->prefix);
}

int dying_state_read(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		     struct dying_state *ret_state, struct error *error)
{
	struct dying_state state = { 0 };
	uint64_t end_ns;
	int r = dying_state_find_end(reader, from_ns, to_ns, &end_ns, error);

	if (r == 0 && end_ns)
		r = take_segments(reader, end_ns, &state, error);
	if (r < 0 || state.at_ns + FRESH_NS < end_ns) {
		dying_state_done(&state);
		state = (struct dying_state){ 0 };
	}
	if (state.kinds.count)
		qsort(state.kinds.items, state.kinds.count, sizeof(*state.kinds.items),
		      dying_state_compare);
	*ret_state = state;
	return r;
}
