// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <stdlib.h>

#include "recorder/build/timer-slots.h"

#define PERIOD_NS 10309278ull
#define START_NS 777000000123ull
#define SECOND_NS 1000000000ull
#define ALL_BUSY 0

static uint64_t slot(uint64_t number)
{
	return START_NS + number * PERIOD_NS;
}

/* Adds samples in [from, to), with random delays in microseconds. */
static void run(struct timer_slots *slots, uint64_t from, uint64_t to, bool idle)
{
	for (uint64_t i = from; i < to; i++)
		timer_slots_sample(slots, slot(i) + i * 7919 % 150000, idle);
}

static struct timer_slots started(void)
{
	struct timer_slots slots = { .period_ns = PERIOD_NS };

	CHECK_EQ(timer_slots_settle(&slots, START_NS - 1, TIMER_SLOTS_IDLE_UNKNOWN).count, 0);
	return slots;
}

static void test_all_there(void)
{
	struct timer_slots slots = started(), none = { 0 };

	for (uint64_t second = 0; second < 1000; second++) {
		run(&slots, second * 97, second * 97 + 97, false);
		CHECK_EQ(timer_slots_settle(&slots, slot(second * 97 + 97) - 5000000, ALL_BUSY)
				 .count,
			 0);
	}
	/* events that count cycles lack a grid */
	run(&none, 0, 10, false);
	run(&none, 90, 97, false);
	CHECK_EQ(timer_slots_settle(&none, slot(97), ALL_BUSY).count, 0);
	CHECK_EQ(timer_slots_settle(&none, slot(194), ALL_BUSY).count, 0);
}

/*
 * Interrupts were off from slot 20.4 to slot 23.6. The timer fires as soon as they are on again,
 * and then on its grid.
 */
static void test_held_up(void)
{
	struct timer_slots slots = started();
	struct timer_slots_hole missing;

	run(&slots, 0, 21, false);
	timer_slots_sample(&slots, slot(23) + PERIOD_NS * 6 / 10, false);
	run(&slots, 24, 97, false);
	missing = timer_slots_settle(&slots, slot(97), SECOND_NS / 2);
	CHECK_EQ(missing.count, 2);
	CHECK(missing.from_ns > slot(20) && missing.from_ns <= slot(21) + 200000);
	CHECK(missing.to_ns > slot(23) && missing.to_ns < slot(24));
	/* the hole is reported once */
	run(&slots, 98, 194, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(194), ALL_BUSY).count, 0);
}

/* If the delay is below one slot, the sample is late, and nothing is skipped. */
static void test_late(void)
{
	struct timer_slots slots = started();

	run(&slots, 0, 21, false);
	timer_slots_sample(&slots, slot(21) + PERIOD_NS * 6 / 10, false);
	run(&slots, 22, 97, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(97), ALL_BUSY).count, 0);
}

/*
 * One skipped sample in some seconds is too little to report in each of these seconds, but is
 * reported over time.
 */
static void test_now_and_then(void)
{
	struct timer_slots slots = started();
	struct timer_slots_hole missing;
	uint64_t all = 0, told_ns = START_NS;

	for (uint64_t second = 0; second < 1000; second++) {
		run(&slots, second * 97, second * 97 + 50, false);
		run(&slots, second * 97 + 51, second * 97 + 97, false);
		missing = timer_slots_settle(&slots, slot(second * 97 + 97) - 5000000, ALL_BUSY);
		all += missing.count;
		if (!missing.count)
			continue;
		CHECK(missing.from_ns >= told_ns && missing.to_ns < slots.settled_ns);
		told_ns = missing.to_ns;
	}
	CHECK(all > 980 && all <= 1000);
}

/* Some kernels do not sample an idle CPU at all. */
static void test_idle(void)
{
	struct timer_slots slots = started();
	uint64_t at = 0;

	srandom(1);
	for (uint64_t second = 0; second < 2000; second++) {
		uint64_t end = (second + 1) * 97, idle = 0;

		while (at < end) {
			uint64_t busy = random() % 5, off = random() % 9;

			run(&slots, at, MIN(at + busy, end), false);
			at += busy + off;
			idle += off;
		}
		CHECK_EQ(timer_slots_settle(&slots, slot(end) - 100000,
					    idle * PERIOD_NS / TIMER_SLOTS_IDLE_UNIT_NS *
						    TIMER_SLOTS_IDLE_UNIT_NS)
				 .count,
			 0);
	}
}

/*
 * Other kernels sample idle CPUs too. Samples of idle time do not count as skipped, and idle time
 * does not excuse other skipped samples.
 */
static void test_sampled_idle(void)
{
	struct timer_slots slots = started();

	run(&slots, 0, 50, true);
	run(&slots, 50, 97, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(97) - 100000, 50 * PERIOD_NS).count, 0);
	run(&slots, 97, 147, true);
	/* from here on the timer does not fire */
	CHECK_EQ(timer_slots_settle(&slots, slot(194) - 100000, 50 * PERIOD_NS).count, 0);
	CHECK(timer_slots_settle(&slots, slot(291) - 100000, ALL_BUSY).count > 130);
}

/* A busy CPU gets no more samples at all, so no late sample ever shows the hole. */
static void test_silent(void)
{
	struct timer_slots slots = started();
	struct timer_slots_hole missing;
	uint64_t all = 0;

	run(&slots, 0, 60, false);
	for (uint64_t second = 1; second <= 5; second++) {
		missing = timer_slots_settle(&slots, slot(second * 97) - 100000, ALL_BUSY);
		all += missing.count;
	}
	CHECK_EQ(all, 5 * 97 - 60);
	/* now the CPU has been idle since the same moment */
	slots = started();
	run(&slots, 0, 60, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(97) - 100000, 37 * PERIOD_NS).count, 0);
	CHECK_EQ(timer_slots_settle(&slots, slot(194) - 100000, 97 * PERIOD_NS).count, 0);
	/* now the idle time of the CPU is unknown */
	slots = started();
	run(&slots, 0, 60, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(97) - 100000, TIMER_SLOTS_IDLE_UNKNOWN).count, 0);
	CHECK_EQ(timer_slots_settle(&slots, slot(194) - 100000, TIMER_SLOTS_IDLE_UNKNOWN).count, 0);
}

/*
 * The CPU idles without samples between two settlings, and the idle time is known at only some
 * settlings.
 */
static void test_not_told(void)
{
	struct timer_slots slots = started();

	run(&slots, 0, 60, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(97) - 100000, TIMER_SLOTS_IDLE_UNKNOWN).count, 0);
	CHECK_EQ(timer_slots_settle(&slots, slot(194) - 100000, 97 * PERIOD_NS).count, 0);
	run(&slots, 250, 291, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(291) - 100000, 56 * PERIOD_NS).count, 0);
	/* it is unknown in which hole the CPU idled, so its idle time excuses samples of both */
	slots = started();
	run(&slots, 0, 20, false);
	run(&slots, 200, 254, false);
	CHECK(timer_slots_settle(&slots, slot(291) - 100000, 37 * PERIOD_NS).count > 140);
	run(&slots, 374, 388, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(388) - 100000, 83 * PERIOD_NS).count, 0);
}

/* A hole across a settling is reported as one hole. */
static void test_over_settling(void)
{
	struct timer_slots slots = started();
	uint64_t all;

	run(&slots, 0, 95, false);
	all = timer_slots_settle(&slots, slot(97) - 100000, ALL_BUSY).count;
	timer_slots_sample(&slots, slot(105) + PERIOD_NS / 2, false);
	run(&slots, 106, 194, false);
	all += timer_slots_settle(&slots, slot(194) - 100000, ALL_BUSY).count;
	CHECK_EQ(all, 10);
}

/*
 * A hypervisor takes the CPU for two seconds between two samples, both of which are half a slot
 * late.
 */
static void test_over_two_settlings(void)
{
	struct timer_slots slots = started();
	uint64_t all = 0;

	run(&slots, 0, 60, false);
	timer_slots_sample(&slots, slot(60) + PERIOD_NS / 2, false);
	for (uint64_t second = 1; second <= 3; second++)
		all += timer_slots_settle(&slots, slot(second * 97) - 100000, ALL_BUSY).count;
	timer_slots_sample(&slots, slot(300) + PERIOD_NS / 2, false);
	run(&slots, 301, 388, false);
	all += timer_slots_settle(&slots, slot(388) - 100000, ALL_BUSY).count;
	CHECK_EQ(all, 300 - 61);
}

/*
 * Other programs opened events on the CPU, which moves the grid: first by half a period at once,
 * then by 3 us per period.
 */
static void test_moved(void)
{
	struct timer_slots slots = started();
	uint64_t moved = 0;

	run(&slots, 0, 40, false);
	for (uint64_t i = 40; i < 97; i++)
		timer_slots_sample(&slots, slot(i) + PERIOD_NS / 2, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(97), ALL_BUSY).count, 0);
	for (uint64_t i = 97; i < 10000; i++) {
		moved += 3000;
		timer_slots_sample(&slots, slot(i) + PERIOD_NS / 2 + moved, false);
	}
	CHECK_EQ(timer_slots_settle(&slots, slot(10000), ALL_BUSY).count, 0);
	/* the CPU was idle while the grid moved: a sample off the grid is not a proof */
	slots = started();
	run(&slots, 0, 40, false);
	for (uint64_t i = 60; i < 97; i++)
		timer_slots_sample(&slots, slot(i) + PERIOD_NS / 2, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(97), 20 * PERIOD_NS).count, 0);
}

static void test_lost(void)
{
	struct timer_slots slots = started();

	run(&slots, 0, 20, false);
	run(&slots, 60, 61, false);
	timer_slots_lost(&slots, 40);
	run(&slots, 61, 97, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(97), ALL_BUSY).count, 0);
	/* half of the missing samples did not fit into the ring, the other half were never taken */
	run(&slots, 97, 120, false);
	timer_slots_sample(&slots, slot(160) + PERIOD_NS / 2, false);
	timer_slots_lost(&slots, 20);
	run(&slots, 161, 194, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(194), ALL_BUSY).count, 20);
}

/* The record of the loss has the time of the next sample, so it comes before that sample. */
static void test_lost_before(void)
{
	struct timer_slots slots = started();

	run(&slots, 0, 20, false);
	/* nobody drained the ring, so it was full */
	CHECK_EQ(timer_slots_settle(&slots, slot(60), ALL_BUSY).count, 0);
	timer_slots_lost(&slots, 40);
	run(&slots, 60, 97, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(97), ALL_BUSY).count, 0);
	/* the loss explains only the next hole */
	timer_slots_lost(&slots, 40);
	run(&slots, 97, 120, false);
	timer_slots_sample(&slots, slot(160) + PERIOD_NS / 2, false);
	run(&slots, 161, 194, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(194), ALL_BUSY).count, 40);
}

/* A throttled timer restarts on another grid. */
static void test_restarted(void)
{
	struct timer_slots slots = started();

	run(&slots, 0, 20, false);
	timer_slots_restart(&slots);
	for (uint64_t i = 60; i < 97; i++)
		timer_slots_sample(&slots, slot(i) + PERIOD_NS / 3, false);
	CHECK_EQ(timer_slots_settle(&slots, slot(97), ALL_BUSY).count, 0);
}

CHECK_MAIN({ "a busy CPU with all its samples skips nothing", test_all_there },
	   { "rarely skipped samples are reported over time", test_now_and_then },
	   { "slots before a late sample are skipped", test_held_up },
	   { "a late sample alone skips nothing", test_late },
	   { "an idle CPU skips nothing", test_idle },
	   { "a CPU whose idle time is sampled", test_sampled_idle },
	   { "a busy CPU without any sample skips all of them", test_silent },
	   { "idle time that is known late or never", test_not_told },
	   { "a hole across a settling counts once", test_over_settling },
	   { "a hole across two settlings counts once", test_over_two_settlings },
	   { "a grid that moves is not a hole", test_moved },
	   { "samples for which the ring had no room are not skipped", test_lost },
	   { "the same if the loss is reported before the next sample", test_lost_before },
	   { "a timer that was stopped skips nothing", test_restarted })
