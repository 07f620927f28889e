// SPDX-License-Identifier: GPL-2.0-only
/* Rounds of a host that ships: a round is small, and a round that failed is made again in full. */
#include <sys/stat.h>

#include "fleet/outbox.h"
#include "fleet/ship-round.h"
#include "tests/tapes.h"

static struct tapes_store store, folder;
static struct ship_state state;
static struct sent_stacks sent;
/* Rows of each table in the last outbox. */
static uint64_t rows[FLEET_TABLES];

/* 200 samples, one per second, and an incident at the end of a stall from second 40 to second 190.
 */
static void put_segment(void)
{
	struct tape *tape = tapes_new(0, 200);
	uint32_t thread = tapes_thread(tape, 1, 1, "comm"), stack = tapes_kernel(tape, "a;b");
	struct tape_incident incident = {
		.time_ns = tape->begin_ns + 190 * NSEC_PER_SEC,
		.stall_ns = tape->begin_ns + 40 * NSEC_PER_SEC,
		.kind = tapes_string(tape, "ena.reset"),
		.severity = 4,
		.text = tapes_string(tape, "eth0: Trigger reset is on"),
		.source = tapes_string(tape, "kmsg"),
	};

	for (uint64_t i = 0; i < 200; i++)
		tapes_sample(tape, tape->begin_ns + i * NSEC_PER_SEC, 0, thread, stack);
	CHECK_EQ(array_push(&tape->incidents, incident), 0);
	tapes_store_put(&store, tape);
}

static void begin_test(void)
{
	tapes_store_init(&store);
	tapes_store_init(&folder);
	put_segment();
}

static void end_test(void)
{
	tapes_store_done(&store);
	tapes_store_done(&folder);
	ship_state_done(&state);
	sent_stacks_done(&sent);
}

/* How long after the recording the round is made. */
static uint64_t later_ns;

static int make_round(void)
{
	const struct ship_round round = {
		.store = store.path,
		.folder = folder.path,
		.host = "h1",
		.root = "/nowhere",
		.samples = EXPORTER_INCIDENTS,
		.before = &state,
		.sent = &sent,
		.now_ns = TAPES_REALTIME + 200 * NSEC_PER_SEC + later_ns,
	};
	struct error error = { 0 };

	return ship_round_make(&round, &error);
}

/* Counts the rows of the outbox, and takes over its state as if a server had all batches. */
static void acknowledge(void)
{
	_cleanup_(outbox_close) struct outbox_reader reader = { 0 };
	struct outbox_batch batch;
	struct error error = { 0 };

	memset(rows, 0, sizeof(rows));
	CHECK_EQ(outbox_open(folder.path, &reader, &error), 1);
	while (outbox_next_batch(&reader, &batch) > 0)
		rows[batch.table] += batch.rows;
	ship_state_done(&state);
	CHECK_EQ(outbox_state(&reader, &state), 0);
}

static void test_window_in_parts(void)
{
	/* the window begins 30 s before the stall and ends 5 s after the incident */
	static const unsigned int parts[] = { 60, 60, 60, 5 };

	begin_test();
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		CHECK_EQ(make_round(), 1);
		acknowledge();
		CHECK_EQ(rows[FLEET_SAMPLES], parts[i]);
		CHECK_EQ(rows[FLEET_WINDOWS], 1);
		CHECK_EQ(rows[FLEET_INCIDENTS], i == 0);
	}
	CHECK_EQ(make_round(), 0);
	end_test();
}

/* A folder in place of the outbox fails the round after all of its rows. */
static void test_failed_round(void)
{
	char path[128], inside[128];

	begin_test();
	snprintf(path, sizeof(path), "%s/outbox", folder.path);
	snprintf(inside, sizeof(inside), "%s/outbox/full", folder.path);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(mkdir(inside, 0700), 0);
	CHECK(make_round() < 0);
	CHECK_EQ(tapes_remove_all(&folder, "outbox"), 0);
	CHECK_EQ(make_round(), 1);
	acknowledge();
	/* the stack of the sums, and that of the samples */
	CHECK_EQ(rows[FLEET_STACKS], 2);
	end_test();
}

/* A host that begins to ship a store of days ago. */
static void test_past_day(void)
{
	begin_test();
	later_ns = 2 * 86400 * NSEC_PER_SEC;
	CHECK_EQ(make_round(), 1);
	acknowledge();
	later_ns = 0;
	/* the version of cgroups, which each host has, for the day and for today */
	CHECK_EQ(rows[FLEET_FACTS], 2);
	end_test();
}

CHECK_MAIN({ "a long window is shipped in parts", test_window_in_parts },
	   { "a past day has labels, too", test_past_day },
	   { "a round that failed is made again with its stacks", test_failed_round })
