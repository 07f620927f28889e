// SPDX-License-Identifier: GPL-2.0-only
/* Each sample of a tape is in exactly one of its windows. */
#include "tape/slice.h"

#include <errno.h>

#include "tape/clocks.h"
#include "tape/tape-events.h"
#include "tests/check.h"
#include "tests/random.h"
#include "tests/scarce.h"
#include "tests/tape-sound.h"
#include "tests/tapes.h"

#define SECONDS 20

/* One kernel function calls another. Each second has different threads, stacks and cgroups. */
static void add_samples(struct tape *tape, unsigned int second)
{
	char name[32];
	uint32_t thread, stack, module;

	snprintf(name, sizeof(name), "comm%u", second);
	thread = tapes_thread(tape, second, second, name);
	snprintf(name, sizeof(name), "/usr/lib/lib%u.so", second);
	module = tapes_module(tape, name, TAPE_MODULE_ELF);
	while (tape->pids.count < module)
		CHECK_EQ(array_push(&tape->pids, 1), 0);
	CHECK_EQ(array_push(&tape->pids, 1000 + (int32_t)second), 0);
	for (unsigned int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "outer;inner%u", second);
		stack = tapes_call(tape, tapes_kernel(tape, name), module, random_below(4), "leaf");
		tapes_sample(tape,
			     tape->begin_ns + second * NSEC_PER_SEC +
				     (uint64_t)random_below(1000000) * TAPE_TIME_UNIT_NS,
			     random_below(4), thread, stack);
	}
}

static void add_context(struct tape *tape, unsigned int second)
{
	uint64_t time_ns = tape->begin_ns + second * NSEC_PER_SEC + random_below(NSEC_PER_SEC);
	struct tape_fields fields = { tape->fields.count, random_below(3) };
	char name[16];
	uint32_t text;

	snprintf(name, sizeof(name), "text%u", second);
	text = tapes_string(tape, name);
	for (uint32_t i = 0; i < fields.count; i++)
		CHECK_EQ(array_push(&tape->fields,
				    (struct tape_fact){ tapes_string(tape, "key"), text }),
			 0);
	CHECK_EQ(array_push(&tape->events, (struct tape_event){ time_ns, 1, tape->threads.count - 1,
								text, fields }),
		 0);
	CHECK_EQ(array_push(&tape->incidents, (struct tape_incident){ time_ns, time_ns, text, 2,
								      text, text, fields }),
		 0);
	CHECK_EQ(array_push(&tape->lines, (struct tape_line){ time_ns, second, 4, text }), 0);
	CHECK_EQ(array_push(&tape->losses,
			    (struct tape_loss){ TAPE_LOSS_SAMPLES, 1, time_ns, time_ns + 5, 7 }),
		 0);
}

static void add_gauges(struct tape *tape)
{
	for (unsigned int g = 0; g < 3; g++) {
		struct tape_gauge gauge = { tapes_string(tape, "gauge/count"), tape->points.count,
					    SECONDS };

		CHECK_EQ(array_push(&tape->gauges, gauge), 0);
		for (unsigned int second = 0; second < SECONDS; second++)
			CHECK_EQ(array_push(&tape->points,
					    (struct tape_point){
						    tape->begin_ns + second * NSEC_PER_SEC, g }),
				 0);
	}
}

/* The wall clock is slewed, and sometimes set. */
static struct tape *random_tape(void)
{
	struct tape *tape = tapes_bare(TAPES_PERF, TAPES_PERF + SECONDS * NSEC_PER_SEC);
	uint64_t wall_ns = TAPES_REALTIME;

	tape->sequence = random_u64();
	tape->unsealed = random_below(2);
	for (unsigned int second = 0; second < SECONDS; second++) {
		tapes_anchor(tape, TAPES_PERF + second * NSEC_PER_SEC, wall_ns);
		wall_ns += NSEC_PER_SEC + random_below(1000000) - 500000;
		if (random_below(20) == 0)
			wall_ns += random_below(2) ? 3 * NSEC_PER_SEC : -3 * NSEC_PER_SEC;
		add_samples(tape, second);
		add_context(tape, second);
	}
	add_gauges(tape);
	CHECK_EQ(tape_sort_samples(tape), 0);
	return tape;
}

/* Describes a sample by names, so that the text does not depend on numbers of rows. */
static void describe(const struct tape *tape, const struct tape_sample *sample, char *text,
		     size_t size)
{
	const struct tape_thread *thread = &tape->threads.items[sample->thread];
	uint32_t frame = sample->frame, stack = sample->stack;
	size_t at = snprintf(text, size, "%llu %u %d %s", (unsigned long long)sample->time_ns,
			     sample->cpu, thread->tid, tape_string(tape, thread->comm));

	for (;;) {
		const struct tape_frame *is = &tape->frames.items[frame];

		at += snprintf(text + at, size - at, " %s+%llx@%llx(%s)",
			       tape_string(tape, is->symbol), (unsigned long long)is->offset,
			       (unsigned long long)is->address,
			       tape_string(tape, tape->modules.items[is->module].path));
		if (!stack)
			break;
		frame = tape->stacks.items[stack].frame;
		stack = tape->stacks.items[stack].parent;
	}
}

static bool same_sample(const struct tape *a, const struct tape_sample *in_a, const struct tape *b,
			const struct tape_sample *in_b)
{
	char one[512], two[512];

	describe(a, in_a, one, sizeof(one));
	describe(b, in_b, two, sizeof(two));
	return strcmp(one, two) == 0;
}

/*
 * Each sample of the slice is the next sample of the tape within the window, and the slice has all
 * of these samples.
 */
static void check_samples(const struct tape *tape, const struct tape *part, uint64_t from_ns,
			  uint64_t to_ns)
{
	size_t next = 0;

	for (size_t i = 0; i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		uint64_t wall_ns = tape_to_realtime(tape, sample->time_ns, NULL);

		if (wall_ns < from_ns || wall_ns >= to_ns)
			continue;
		CHECK(part && next < part->samples.count);
		CHECK(same_sample(tape, sample, part, &part->samples.items[next]));
		next++;
	}
	CHECK_EQ(next, part ? part->samples.count : 0);
}

/* An event's fields contain its name. */
static void check_events(const struct tape *part)
{
	for (size_t i = 0; i < part->events.count; i++) {
		const struct tape_event *event = &part->events.items[i];

		for (uint32_t at = 0; at < event->fields.count; at++)
			CHECK_EQ(part->fields.items[event->fields.first + at].value, event->name);
	}
}

/* The slice keeps the process of each module. */
static void check_pids(const struct tape *part)
{
	CHECK_EQ(part->pids.count, part->modules.count);
	for (size_t i = 1; i < part->modules.count; i++) {
		const char *path = tape_string(part, part->modules.items[i].path);
		unsigned int second;

		if (sscanf(path, "/usr/lib/lib%u.so", &second) == 1)
			CHECK_EQ(part->pids.items[i], 1000 + second);
	}
}

struct totals {
	size_t samples, events, lines, incidents, points, fields;
};

static void add_totals(struct totals *totals, const struct tape *tape)
{
	totals->samples += tape->samples.count;
	totals->events += tape->events.count;
	totals->lines += tape->lines.count;
	totals->incidents += tape->incidents.count;
	totals->points += tape->points.count;
	for (size_t i = 0; i < tape->events.count; i++)
		totals->fields += tape->events.items[i].fields.count;
	for (size_t i = 0; i < tape->incidents.count; i++) {
		const struct tape_incident *incident = &tape->incidents.items[i];

		totals->fields += incident->fields.count;
		CHECK(strncmp(tape_string(tape, incident->kind), "text", 4) == 0);
		CHECK_STR(tape_string(tape, incident->kind), tape_string(tape, incident->text));
		CHECK_STR(tape_string(tape, incident->kind), tape_string(tape, incident->source));
	}
}

static void check_part(const struct tape *tape, uint64_t from_ns, uint64_t to_ns,
		       struct totals *totals)
{
	_cleanup_(cleanup_tape) struct tape *part = NULL;

	CHECK_EQ(tape_slice(tape, from_ns, to_ns, &part), 0);
	check_samples(tape, part, from_ns, to_ns);
	if (!part)
		return;
	CHECK(tape_is_sound(part));
	CHECK_EQ(part->sequence, tape->sequence);
	CHECK_EQ(part->unsealed, tape->unsealed);
	CHECK_STR(tape_fact(part, "boot_id"), tape_fact(tape, "boot_id"));
	CHECK_EQ(part->anchors.count, tape->anchors.count);
	check_events(part);
	check_pids(part);
	add_totals(totals, part);
}

static void test_partition(void)
{
	for (int round = 0; round < 200; round++) {
		_cleanup_(cleanup_tape) struct tape *tape = random_tape();
		struct totals whole = { 0 }, parts = { 0 };
		uint64_t from_ns = 0;

		add_totals(&whole, tape);
		while (from_ns < UINT64_MAX) {
			uint64_t to_ns = MAX(from_ns, TAPES_REALTIME - NSEC_PER_SEC) +
					 random_u64() % (8 * NSEC_PER_SEC);

			if (to_ns > TAPES_REALTIME + 90 * NSEC_PER_SEC)
				to_ns = UINT64_MAX;
			check_part(tape, from_ns, to_ns, &parts);
			from_ns = to_ns;
		}
		CHECK_EQ(memcmp(&whole, &parts, sizeof(whole)), 0);
	}
}

static void test_only_what_it_needs(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10), *part = NULL;
	uint32_t early = tapes_thread(tape, 1, 1, "early"), late = tapes_thread(tape, 2, 2, "late");

	tapes_sample(tape, tape->begin_ns + NSEC_PER_SEC, 0, early, tapes_kernel(tape, "a;b;c"));
	tapes_sample(tape, tape->begin_ns + 5 * NSEC_PER_SEC, 0, late, tapes_kernel(tape, "a;d"));
	CHECK_EQ(tape_slice(tape, TAPES_REALTIME + 4500000000, TAPES_REALTIME + 5500000100, &part),
		 0);
	CHECK_EQ(part->begin_ns, tape->begin_ns + 4500000000);
	CHECK_EQ(part->end_ns, tape->begin_ns + 5500001000);
	CHECK_EQ(part->samples.count, 1);
	CHECK_EQ(part->threads.count, 1);
	CHECK_EQ(part->stacks.count, 2);
	CHECK_EQ(part->frames.count, 3);
	CHECK_EQ(part->modules.count, 2);
	for (uint32_t i = 0; i < strings_count(&part->strings); i++)
		CHECK(strcmp(tape_string(part, i), "early") != 0 &&
		      strcmp(tape_string(part, i), "b") != 0);
}

/* The last reading of a gauge that is read once a minute comes with a short slice. */
static void test_rare_gauge(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 200), *part = NULL, *first = NULL;
	uint32_t gauge;

	CHECK_EQ(tape_add_gauge(tape, "memory_cgroups/dying", &gauge), 0);
	for (unsigned int minute = 0; minute < 3; minute++)
		CHECK_EQ(tape_add_point(tape, gauge,
					tape->begin_ns + (30 + 60 * minute) * NSEC_PER_SEC, minute),
			 0);
	CHECK_EQ(tape_slice(tape, TAPES_REALTIME + 100 * NSEC_PER_SEC,
			    TAPES_REALTIME + 110 * NSEC_PER_SEC, &part),
		 0);
	CHECK(tape_is_sound(part));
	CHECK_EQ(part->gauges.count, 1);
	CHECK_EQ(part->points.count, 1);
	CHECK_EQ(part->points.items[0].value, 1);
	CHECK_EQ(part->points.items[0].time_ns, tape->begin_ns + 90 * NSEC_PER_SEC);
	CHECK_EQ(tape_slice(tape, TAPES_REALTIME + 5 * NSEC_PER_SEC,
			    TAPES_REALTIME + 10 * NSEC_PER_SEC, &first),
		 0);
	CHECK_EQ(first->points.count, 1);
	CHECK_EQ(first->points.items[0].value, 0);
}

/* How the recording ended belongs to the last window only, and the sums belong to no part. */
static void test_ended(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10), *head = NULL, *tail = NULL;
	_cleanup_(cleanup_tape) struct tape *all = NULL;

	CHECK_EQ(tape_add_fact(tape, TAPE_BEGUN, "7"), 0);
	CHECK_EQ(tape_add_fact(tape, TAPE_ENDED, "SIGTERM"), 0);
	CHECK_EQ(tape_add_fact(tape, TAPE_UNNAMED, "9 without symbols"), 0);
	CHECK_EQ(tape_slice(tape, 0, UINT64_MAX, &all), 0);
	CHECK_STR(tape_fact(all, TAPE_UNNAMED), "9 without symbols");
	CHECK_EQ(tape_slice(tape, 0, TAPES_REALTIME + 9 * NSEC_PER_SEC, &head), 0);
	CHECK_STR(tape_fact(head, TAPE_BEGUN), "7");
	CHECK_STR(tape_fact(head, TAPE_ENDED), "");
	CHECK_STR(tape_fact(head, TAPE_UNNAMED), "");
	CHECK_EQ(tape_slice(tape, TAPES_REALTIME + 9 * NSEC_PER_SEC, UINT64_MAX, &tail), 0);
	CHECK_STR(tape_fact(tail, TAPE_BEGUN), "7");
	CHECK_STR(tape_fact(tail, TAPE_ENDED), "SIGTERM");
	CHECK_STR(tape_fact(tail, TAPE_UNNAMED), "");
}

static void add_dying(struct tape *tape, unsigned int second, const char *maker)
{
	struct tape_event event = { .time_ns = tape->begin_ns + second * NSEC_PER_SEC };

	CHECK_EQ(tape_add_no_thread(tape, &event.thread), 0);
	CHECK_EQ(tape_add_event(tape, &event, TAPE_EVENT_DYING), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_MADE_BY, maker, strlen(maker)), 0);
	event.time_ns++;
	CHECK_EQ(tape_add_event(tape, &event, "other"), 0);
}

/* Checks which makers the events of a window name. */
static void check_makers(const struct tape *tape, unsigned int from, unsigned int to,
			 const char *makers)
{
	_cleanup_(cleanup_tape) struct tape *part = NULL;
	char text[64] = "";

	CHECK_EQ(tape_slice(tape, TAPES_REALTIME + from * NSEC_PER_SEC,
			    TAPES_REALTIME + to * NSEC_PER_SEC, &part),
		 0);
	for (size_t i = 0; i < part->events.count; i++) {
		const struct tape_event *event = &part->events.items[i];
		const char *maker = tape_event_field(part, event, TAPE_DYING_MADE_BY);

		if (maker)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", maker);
	}
	CHECK_STR(text, makers);
	CHECK(tape_is_sound(part));
}

/*
 * A window without an event of dying cgroups gets the events of the moment before it, or after it.
 */
static void test_dying(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 100);

	add_dying(tape, 10, "a");
	add_dying(tape, 10, "b");
	CHECK_EQ(tape_sort_events(tape), 0);
	add_dying(tape, 70, "c");
	check_makers(tape, 0, 100, "a b c ");
	check_makers(tape, 5, 20, "a b ");
	check_makers(tape, 20, 50, "a b ");
	check_makers(tape, 60, 80, "c ");
	check_makers(tape, 90, 95, "c ");
	check_makers(tape, 2, 8, "a b ");
}

static void test_nothing(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10), *part = tape;

	CHECK_EQ(tape_slice(tape, 0, TAPES_REALTIME, &part), 0);
	CHECK(!part);
	part = tape;
	CHECK_EQ(tape_slice(tape, TAPES_REALTIME + 10 * NSEC_PER_SEC, UINT64_MAX, &part), 0);
	CHECK(!part);
	part = tape;
	CHECK_EQ(tape_slice(tape, TAPES_REALTIME + 5, TAPES_REALTIME + 5, &part), 0);
	CHECK(!part);
}

/*
 * The wall clock shows 20 s to 25 s twice. The slice excludes the samples between the two passes.
 */
static void test_set_back(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_bare(0, 60 * NSEC_PER_SEC), *part = NULL;
	const struct tape_loss *gap;

	tapes_anchor(tape, 0, 10 * NSEC_PER_SEC);
	tapes_anchor(tape, 30 * NSEC_PER_SEC, 40 * NSEC_PER_SEC);
	tapes_anchor(tape, 31 * NSEC_PER_SEC, 1 * NSEC_PER_SEC);
	CHECK_EQ(tape_slice(tape, 20 * NSEC_PER_SEC, 25 * NSEC_PER_SEC, &part), 0);
	CHECK_EQ(part->begin_ns, 10 * NSEC_PER_SEC);
	CHECK_EQ(part->end_ns, 55 * NSEC_PER_SEC);
	CHECK_EQ(part->losses.count, 1);
	gap = &part->losses.items[0];
	CHECK_EQ(gap->kind, TAPE_LOSS_GAP);
	CHECK_EQ(gap->from_ns, 15 * NSEC_PER_SEC);
	CHECK_EQ(gap->to_ns, 50 * NSEC_PER_SEC);
}

static void test_losses(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10), *part = NULL;
	uint64_t begin_ns = tape->begin_ns, second = NSEC_PER_SEC;
	const struct tape_loss losses[] = {
		{ TAPE_LOSS_SAMPLES, 0, begin_ns, begin_ns + 5 * second,
		  1 }, /* the loss ends where the part begins */
		{ TAPE_LOSS_SAMPLES, 0, begin_ns, begin_ns + 5 * second + 1, 2 },
		{ TAPE_LOSS_SAMPLES, 0, begin_ns + 9 * second, begin_ns + 20 * second, 3 },
		{ TAPE_LOSS_DAMAGED, 0, begin_ns + 10 * second, begin_ns + 10 * second, 4 },
		{ TAPE_LOSS_DAMAGED, 0, begin_ns + 4 * second, begin_ns + 4 * second, 5 },
	};
	uint64_t kept = 0;

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++)
		CHECK_EQ(array_push(&tape->losses, losses[i]), 0);
	CHECK_EQ(tape_slice(tape, TAPES_REALTIME + 5 * second, UINT64_MAX, &part), 0);
	for (size_t i = 0; i < part->losses.count; i++)
		kept = kept * 10 + part->losses.items[i].count;
	CHECK_EQ(kept, 234);
	CHECK_EQ(part->losses.items[0].from_ns, begin_ns);
}

/* A loss that begins at or behind the end belongs to the next slice. */
static void test_losses_behind(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10), *part = NULL;
	uint64_t begin_ns = tape->begin_ns, second = NSEC_PER_SEC, kept = 0;
	const struct tape_loss losses[] = {
		{ TAPE_LOSS_SAMPLES, 0, begin_ns + 6 * second, begin_ns + 7 * second, 1 },
		{ TAPE_LOSS_SAMPLES, 0, begin_ns + 7 * second, begin_ns + 8 * second, 2 },
		{ TAPE_LOSS_SAMPLES, 0, begin_ns + 8 * second, begin_ns + 9 * second, 3 },
		{ TAPE_LOSS_DAMAGED, 0, begin_ns + 7 * second, begin_ns + 7 * second, 4 },
		{ TAPE_LOSS_DAMAGED, 0, begin_ns + 8 * second, begin_ns + 8 * second, 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++)
		CHECK_EQ(array_push(&tape->losses, losses[i]), 0);
	CHECK_EQ(tape_slice(tape, TAPES_REALTIME + 5 * second, TAPES_REALTIME + 7 * second, &part),
		 0);
	for (size_t i = 0; i < part->losses.count; i++)
		kept = kept * 10 + part->losses.items[i].count;
	CHECK_EQ(kept, 14);
}

/* Each allocation fails once. A part of a slice would be a wrong answer, so there is none. */
static void test_scarce(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = random_tape();
	unsigned int number = 0;
	bool failed;

	do {
		_cleanup_(cleanup_tape) struct tape *part = NULL;
		int r;

		scarce_begin(++number);
		r = tape_slice(tape, TAPES_REALTIME, TAPES_REALTIME + 2 * NSEC_PER_SEC, &part);
		failed = scarce_end();
		CHECK_EQ(r, failed ? -ENOMEM : 0);
		CHECK(!part == failed);
	} while (failed);
	CHECK(number > 20);
}

CHECK_MAIN({ "windows partition a tape", test_partition },
	   { "without memory there is no slice", test_scarce },
	   { "a slice has only the rows that it needs", test_only_what_it_needs },
	   { "a window without samples", test_nothing },
	   { "only the last window has the recording's end", test_ended },
	   { "a gauge that is read rarely", test_rare_gauge },
	   { "each window tells what was dying", test_dying },
	   { "a clock that was set back", test_set_back },
	   { "losses across edges are shared", test_losses },
	   { "losses behind a slice are not part of it", test_losses_behind })
