// SPDX-License-Identifier: GPL-2.0-only
/* Which cgroups were dying at the end of a window, and who made them, without a recorder. */
#include "tests/tapes.h"

#include "query/read/dying-state.h"
#include "tape/tape-events.h"

static void add_dying(struct tape *tape, unsigned int second, const char *prefix, uint64_t count,
		      const char *maker)
{
	struct tape_event event = { .time_ns = TAPES_PERF + second * NSEC_PER_SEC };

	CHECK_EQ(tape_add_no_thread(tape, &event.thread), 0);
	CHECK_EQ(tape_add_event(tape, &event, TAPE_EVENT_DYING), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_PREFIX, prefix, strlen(prefix)), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_COUNT, count), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_MADE_BY, maker, strlen(maker)), 0);
}

/* Shows the state as "PREFIX COUNT MAKER;", in its order. */
static void check_state(const char *path, unsigned int from, unsigned int to, const char *expected)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct dying_state state;
	_cleanup_(buffer_done) struct buffer text = { 0 };

	CHECK_EQ(store_reader_open(path, &reader, NULL), 0);
	CHECK_EQ(dying_state_read(reader, TAPES_REALTIME + from * NSEC_PER_SEC,
				  TAPES_REALTIME + to * NSEC_PER_SEC, &state, NULL),
		 0);
	for (size_t i = 0; i < state.kinds.count; i++) {
		const struct dying_state_kind *kind = &state.kinds.items[i];

		buffer_printf(&text, "%s %llu %s;", kind->prefix, (unsigned long long)kind->count,
			      kind->made_by);
	}
	CHECK_STR(buffer_shown(&text), expected);
	CHECK_EQ(state.at_ns != 0, *expected != 0);
	dying_state_done(&state);
}

static void test_read(void)
{
	struct tapes_store store;
	struct tape *first, *second;

	tapes_store_init(&store);
	first = tapes_new(0, 120);
	add_dying(first, 1, "/old", 9, "gone");
	add_dying(first, 1, "/a", 1, "runc");
	add_dying(first, 61, "/a", 2, "runc");
	add_dying(first, 61, "/b", 30, "agent");
	tapes_store_put(&store, first);
	second = tapes_new(120, 400);
	add_dying(second, 121, "/a", 3, "runc");
	tapes_store_put(&store, second);
	check_state(store.path, 0, 120, "/b 30 agent;/a 2 runc;");
	check_state(store.path, 0, 61, "/old 9 gone;/a 1 runc;");
	check_state(store.path, 0, 1, "/old 9 gone;/a 1 runc;");
	check_state(store.path, 130, 180, "/a 3 runc;");
	/* the recording goes on for long after the last event about dying cgroups */
	check_state(store.path, 0, 9000, "");
	check_state(store.path, 500, 9000, "");
	tapes_store_done(&store);
}

CHECK_MAIN({ "the last events before a window's end count", test_read })
