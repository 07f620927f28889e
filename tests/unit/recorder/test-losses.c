// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include "recorder/build/losses.h"

#define MSEC_NS 1000000ull
#define SECOND_NS (1000 * MSEC_NS)
#define PERIOD_NS 10309278ull

static void cleanup_losses(struct losses *losses)
{
	losses_done(losses);
}

/* Returns the tape of [begin, end) with all losses that happened before its end. */
static struct tape *give(struct losses *losses, uint64_t begin_ns, uint64_t end_ns)
{
	struct tape *tape;

	CHECK_EQ(tape_new(&tape), 0);
	tape->begin_ns = begin_ns;
	tape->end_ns = end_ns;
	CHECK_EQ(losses_move_to_tape(losses, tape, end_ns), 0);
	return tape;
}

static uint64_t count(const struct tape *tape, enum tape_loss_kind kind, uint32_t cpu)
{
	uint64_t count = 0;

	for (size_t i = 0; i < tape->losses.count; i++)
		if (tape->losses.items[i].kind == kind && tape->losses.items[i].cpu == cpu)
			count += tape->losses.items[i].count;
	return count;
}

static void throttle(struct losses *losses, bool on, uint64_t time_ns)
{
	struct perf_record record = {
		.type = on ? PERF_TYPE_THROTTLE : PERF_TYPE_UNTHROTTLE,
		.cpu = 3,
		.time_ns = time_ns,
	};

	CHECK_EQ(losses_throttle(losses, &record), 0);
}

/*
 * The kernel's count shows lost samples by the end of a tape. If a record reports these samples
 * later, they are not counted again.
 */
static void test_ledger(void)
{
	_cleanup_(cleanup_losses) struct losses losses = { 0 };
	_cleanup_(cleanup_tape) struct tape *first = NULL, *second = NULL, *third = NULL;

	CHECK_EQ(losses_lost(&losses, true, 1, 10, 20, 100), 0);
	CHECK_EQ(losses_counted(&losses, 1, 20, 900, 100), 0);
	CHECK_EQ(losses.counts.lost, 100);
	CHECK_EQ(losses_counted(&losses, 1, 20, 900, 130), 0);
	first = give(&losses, 0, 1000);
	CHECK_EQ(count(first, TAPE_LOSS_SAMPLES, 1), 130);
	/* 30 of these 50 samples were already counted */
	CHECK_EQ(losses_lost(&losses, true, 1, 20, 1100, 50), 0);
	CHECK_EQ(losses_lost(&losses, true, 1, 1100, 1200, 7), 0);
	second = give(&losses, 1000, 2000);
	CHECK_EQ(count(second, TAPE_LOSS_SAMPLES, 1), 27);
	CHECK_EQ(losses_counted(&losses, 1, 1200, 2100, 157), 0);
	CHECK_EQ(losses.counts.lost, 157);
	/* the count of new events starts at 0 */
	CHECK_EQ(losses_online(&losses, 1, false, 2200), 0);
	CHECK_EQ(losses_online(&losses, 1, true, 2300), 0);
	CHECK_EQ(losses_counted(&losses, 1, 2400, 2500, 3), 0);
	third = give(&losses, 2000, 3000);
	CHECK_EQ(count(third, TAPE_LOSS_SAMPLES, 1), 3);
	CHECK_EQ(count(third, TAPE_LOSS_OFFLINE, 1), 1);
	/* a kernel without such a count must not reduce the number that its records reported */
	CHECK_EQ(losses_counted(&losses, 1, 2600, 2700, 0), 0);
	CHECK_EQ(losses.counts.lost, 160);
	CHECK_EQ(losses_lost(&losses, false, 1, 10, 20, 5), 0);
	CHECK_EQ(losses.counts.lost, 160);
	CHECK_EQ(losses.counts.lost_sideband, 5);
}

/* Samples that were lost before the recording began are neither in a tape nor counted. */
static void test_before_begin(void)
{
	_cleanup_(cleanup_losses) struct losses losses = { 0 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;

	CHECK_EQ(losses_lost(&losses, true, 0, 100, 900, 5), 0);
	CHECK_EQ(losses_lost(&losses, true, 1, 900, 1100, 20), 0);
	CHECK_EQ(losses_lost(&losses, false, 1, 100, 900, 3), 0);
	losses_begin(&losses, 1000);
	CHECK_EQ(losses.counts.lost, 10);
	CHECK_EQ(losses_lost(&losses, true, 0, 900, 1300, 40), 0);
	CHECK_EQ(losses_lost(&losses, true, 1, 1100, 1200, 7), 0);
	/* the kernel's count contains all of them */
	CHECK_EQ(losses_counted(&losses, 0, 1300, 1400, 45), 0);
	CHECK_EQ(losses.counts.lost, 47);
	CHECK_EQ(losses.counts.lost_sideband, 3);
	tape = give(&losses, 1000, 2000);
	CHECK_EQ(count(tape, TAPE_LOSS_SAMPLES, 0), 30);
	CHECK_EQ(count(tape, TAPE_LOSS_SAMPLES, 1), 17);
}

/* Each tape gets the part of a loss that lies in its time. */
static void test_shares(void)
{
	_cleanup_(cleanup_losses) struct losses losses = { 0 };
	_cleanup_(cleanup_tape) struct tape *first = NULL, *second = NULL;

	CHECK_EQ(losses_lost(&losses, true, 0, 500, 1500, 1001), 0);
	first = give(&losses, 0, 1000);
	second = give(&losses, 1000, 2000);
	CHECK_EQ(count(first, TAPE_LOSS_SAMPLES, 0), 500);
	CHECK_EQ(count(second, TAPE_LOSS_SAMPLES, 0), 501);
	CHECK_EQ(losses_end(&losses), 0);
}

/*
 * If the limit is too low, the kernel throttles a CPU at every tick. That is one loss that happened
 * many times.
 */
static void test_throttled(void)
{
	_cleanup_(cleanup_losses) struct losses losses = { 0 };
	_cleanup_(cleanup_tape) struct tape *first = NULL, *second = NULL;
	uint64_t at = SECOND_NS;

	for (int i = 0; i < 250; i++, at += 4 * MSEC_NS) {
		throttle(&losses, true, at);
		throttle(&losses, false, at + 3 * MSEC_NS);
	}
	/* the CPU is throttled again, much later; that ends in the next tape */
	throttle(&losses, true, 5 * SECOND_NS);
	first = give(&losses, 0, 6 * SECOND_NS);
	throttle(&losses, false, 7 * SECOND_NS);
	second = give(&losses, 6 * SECOND_NS, 12 * SECOND_NS);
	CHECK_EQ(losses.counts.throttled, 251);
	CHECK_EQ(first->losses.count, 2);
	CHECK_EQ(count(first, TAPE_LOSS_THROTTLED, 3), 251);
	CHECK_EQ(first->losses.items[0].from_ns, SECOND_NS);
	CHECK_EQ(first->losses.items[0].to_ns, at - MSEC_NS);
	CHECK_EQ(second->losses.count, 1);
	CHECK_EQ(second->losses.items[0].from_ns, 6 * SECOND_NS);
	CHECK_EQ(second->losses.items[0].to_ns, 7 * SECOND_NS);
}

static const struct tape_loss *find(const struct tape *tape, enum tape_loss_kind kind)
{
	for (size_t i = 0; i < tape->losses.count; i++)
		if (tape->losses.items[i].kind == kind)
			return &tape->losses.items[i];
	CHECK_FAIL("no loss of kind %d", kind);
}

/*
 * Four samples per tick are due and two come, so two are skipped. A loss that reaches into another
 * tape is divided.
 */
static void test_throttled_slots(void)
{
	_cleanup_(cleanup_losses) struct losses losses = { .period_ns = MSEC_NS };
	_cleanup_(cleanup_tape) struct tape *first = NULL, *second = NULL;
	uint64_t at = SECOND_NS;

	for (int i = 0; i < 250; i++, at += 4 * MSEC_NS) {
		losses_sample(&losses, 3, at, false);
		throttle(&losses, true, at + MSEC_NS);
		losses_sample(&losses, 3, at + MSEC_NS + 20, false);
		/* throttled for two and a half slots, or for one and a half */
		throttle(&losses, false, at + (i & 1 ? 3500 : 2500) * 1000ull);
	}
	throttle(&losses, true, 5 * SECOND_NS);
	first = give(&losses, 0, 6 * SECOND_NS);
	CHECK_EQ(count(first, TAPE_LOSS_SKIPPED, 3), 500 + 1000);
	CHECK_EQ(find(first, TAPE_LOSS_SKIPPED)->count, 500);
	CHECK_EQ(find(first, TAPE_LOSS_SKIPPED)->from_ns,
		 find(first, TAPE_LOSS_THROTTLED)->from_ns);
	CHECK_EQ(find(first, TAPE_LOSS_SKIPPED)->to_ns, find(first, TAPE_LOSS_THROTTLED)->to_ns);
	/* the record of the throttling's end is lost */
	losses_sample(&losses, 3, 7 * SECOND_NS, false);
	losses_sample(&losses, 3, 7 * SECOND_NS + MSEC_NS, false);
	second = give(&losses, 6 * SECOND_NS, 12 * SECOND_NS);
	CHECK_EQ(count(second, TAPE_LOSS_SKIPPED, 3), 1000);
	CHECK_EQ(find(second, TAPE_LOSS_SKIPPED)->to_ns, 7 * SECOND_NS);
	CHECK_EQ(losses.counts.skipped, 2500);
}

/*
 * A full ring loses the end of a throttling and the samples after it. These samples count as lost,
 * not also as skipped.
 */
static void test_throttled_and_lost(void)
{
	_cleanup_(cleanup_losses) struct losses losses = { .period_ns = MSEC_NS };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;

	losses_sample(&losses, 3, SECOND_NS, false);
	throttle(&losses, true, SECOND_NS + MSEC_NS);
	throttle(&losses, false, SECOND_NS + 11 * MSEC_NS);
	throttle(&losses, true, SECOND_NS + 20 * MSEC_NS);
	losses_sample(&losses, 3, 2 * SECOND_NS + 20 * MSEC_NS, false);
	CHECK_EQ(losses.counts.skipped, 10 + 1000);
	losses_lost_slots(&losses, 3, 990);
	CHECK_EQ(losses.counts.skipped, 10 + 10);
	/* more lost samples than there can have been */
	losses_lost_slots(&losses, 3, 90);
	CHECK_EQ(losses.counts.skipped, 10);
	/* the loss is reported before the sample that ends the throttling */
	throttle(&losses, true, 2 * SECOND_NS + 30 * MSEC_NS);
	losses_lost_slots(&losses, 3, 100);
	losses_sample(&losses, 3, 2 * SECOND_NS + 130 * MSEC_NS, false);
	CHECK_EQ(losses.counts.skipped, 10);
	tape = give(&losses, 0, 3 * SECOND_NS);
	CHECK_EQ(count(tape, TAPE_LOSS_SKIPPED, 3), 10);
	losses_lost_slots(&losses, 3, 90);
	CHECK_EQ(losses.counts.skipped, 10);
}

/*
 * If the record of an end was lost, a sample ends the throttling. An end without a begin is
 * ignored.
 */
static void test_unpaired(void)
{
	_cleanup_(cleanup_losses) struct losses losses = { 0 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;

	throttle(&losses, false, SECOND_NS);
	throttle(&losses, true, 2 * SECOND_NS);
	losses_sample(&losses, 3, 2 * SECOND_NS + 20000, false);
	losses_sample(&losses, 3, 3 * SECOND_NS, false);
	throttle(&losses, false, 4 * SECOND_NS);
	tape = give(&losses, 0, 5 * SECOND_NS);
	CHECK_EQ(tape->losses.count, 1);
	CHECK_EQ(tape->losses.items[0].from_ns, 2 * SECOND_NS);
	CHECK_EQ(tape->losses.items[0].to_ns, 3 * SECOND_NS);
}

static void test_lowered(void)
{
	_cleanup_(cleanup_losses) struct losses losses = { 0 };
	_cleanup_(cleanup_tape) struct tape *first = NULL, *second = NULL, *third = NULL;

	CHECK_EQ(losses_limit(&losses, 0, 100), 0);
	CHECK_EQ(losses_limit(&losses, 50, 600), 0);
	CHECK_EQ(losses_limit(&losses, 50, 700), 0);
	first = give(&losses, 0, 1000);
	CHECK_EQ(losses_limit(&losses, 25, 1200), 0);
	CHECK_EQ(losses_limit(&losses, 0, 1300), 0);
	second = give(&losses, 1000, 2000);
	third = give(&losses, 2000, 3000);
	CHECK_EQ(first->losses.count, 1);
	CHECK_EQ(first->losses.items[0].from_ns, 600);
	CHECK_EQ(first->losses.items[0].to_ns, 1000);
	CHECK_EQ(first->losses.items[0].count, 50);
	CHECK_EQ(second->losses.count, 2);
	CHECK_EQ(second->losses.items[1].from_ns, 1200);
	CHECK_EQ(second->losses.items[1].count, 25);
	CHECK_EQ(third->losses.count, 0);
}

static void settle(struct losses *losses, uint64_t time_ns, const char *stat)
{
	_cleanup_free_ char *text = strdup(stat);
	_cleanup_(cpu_idle_done) struct cpu_idle idle = { 0 };

	CHECK_EQ(cpu_idle_parse(text, &idle), 0);
	idle.time_ns = time_ns;
	CHECK_EQ(losses_set_idle(losses, &idle), 0);
	CHECK_EQ(losses_settle_at(losses), time_ns);
	CHECK_EQ(losses_settle(losses), 0);
	CHECK_EQ(losses_settle_at(losses), 0);
}

/* CPU 0 was busy, but lacks samples from some moment on. CPU 2 lacks samples, too, but idled. */
static void test_missing(void)
{
	_cleanup_(cleanup_losses) struct losses losses = { .period_ns = PERIOD_NS };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;

	for (uint32_t cpu = 0; cpu < 3; cpu += 2)
		for (uint64_t i = 0; i < 90; i++)
			losses_sample(&losses, cpu, SECOND_NS + i * PERIOD_NS, false);
	settle(&losses, SECOND_NS + 90 * PERIOD_NS,
	       "cpu  9 9 9 9\ncpu0 1 2 3 1000 500 6\ncpu2 1 2 3 5 6 7\n");
	settle(&losses, SECOND_NS + 187 * PERIOD_NS,
	       "cpu  9 9 9 9\ncpu0 1 2 3 1000 500 6\ncpu2 1 2 3 50 60 7\nintr 1\n");
	CHECK_EQ(losses.counts.skipped, 97);
	tape = give(&losses, 0, 100 * SECOND_NS);
	CHECK_EQ(tape->losses.count, 1);
	CHECK_EQ(count(tape, TAPE_LOSS_SKIPPED, 0), 97);
	/* a reading below the previous reading is not usable */
	settle(&losses, SECOND_NS + 284 * PERIOD_NS,
	       "cpu0 1 2 3 1000 400 6\ncpu2 1 2 3 50 160 7\n");
	CHECK_EQ(losses.counts.skipped, 97);
}

/*
 * Three CPUs are offline. One comes back and goes offline again, and one that is throttled
 * meanwhile keeps its losses.
 */
static void test_joined(void)
{
	_cleanup_(cleanup_losses) struct losses losses = { 0 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;

	CHECK_EQ(tape_new(&tape), 0);
	tape->end_ns = 100 * SECOND_NS;
	for (uint32_t cpu = 1; cpu < 4; cpu++)
		CHECK_EQ(losses_online(&losses, cpu, false, SECOND_NS), 0);
	for (uint64_t i = 2; i < 50; i++) {
		if (i == 20)
			CHECK_EQ(losses_online(&losses, 2, true, i * SECOND_NS), 0);
		if (i == 30)
			CHECK_EQ(losses_online(&losses, 2, false, i * SECOND_NS), 0);
		CHECK_EQ(array_push(&tape->losses,
				    (struct tape_loss){ TAPE_LOSS_THROTTLED, 1, i * SECOND_NS,
							(i + 1) * SECOND_NS, 1 }),
			 0);
		CHECK_EQ(losses_move_to_tape(&losses, tape, i * SECOND_NS + MSEC_NS), 0);
	}
	CHECK(tape->losses.count > 150);
	tape_join_losses(tape);
	CHECK_EQ(count(tape, TAPE_LOSS_THROTTLED, 1), 48);
	CHECK_EQ(count(tape, TAPE_LOSS_OFFLINE, 1), 1);
	CHECK_EQ(count(tape, TAPE_LOSS_OFFLINE, 2), 2);
	CHECK_EQ(count(tape, TAPE_LOSS_OFFLINE, 3), 1);
	for (size_t i = 0; i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];

		if (loss->kind != TAPE_LOSS_OFFLINE)
			continue;
		CHECK_EQ(loss->to_ns, loss->cpu == 2 && loss->from_ns == SECOND_NS
					      ? 20 * SECOND_NS
					      : 49 * SECOND_NS + MSEC_NS);
	}
}

CHECK_MAIN({ "a lost sample counts exactly once", test_ledger },
	   { "losses before the begin do not count", test_before_begin },
	   { "a CPU that stays offline is one row", test_joined },
	   { "each tape has its share of a loss", test_shares },
	   { "throttling at every tick is one loss", test_throttled },
	   { "slots of a throttled CPU are skipped", test_throttled_slots },
	   { "slots of a throttling that ended in a full ring count once",
	     test_throttled_and_lost },
	   { "throttling whose end was lost ends", test_unpaired },
	   { "a lowered limit is recorded with its value", test_lowered },
	   { "idle time shows which samples were skipped", test_missing })
