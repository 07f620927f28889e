// SPDX-License-Identifier: GPL-2.0-only
/* The clocks of an imaginary machine are set, slewed and stopped, and read into anchors. */
#include "tape/clocks.h"

#include "base/clock.h"
#include "tests/check.h"
#include "tests/random.h"

#define START 1000000000000ull
#define WALL 1794971520000000000ull
#define TOLERANCE 20000

/*
 * With each nanosecond of the perf clock, the other clocks advance. Slewing the wall clock slews
 * the monotonic clocks too.
 */
struct machine {
	uint64_t perf_ns;
	uint64_t wall_ns;
	uint64_t monotonic_ns;
	uint64_t boottime_ns;
	int slew_ppm;
	struct tape *tape;
};

static struct machine machine_new(void)
{
	struct machine machine = { START, WALL, START - 5000, START + 7 * NSEC_PER_SEC, 0, NULL };

	CHECK_EQ(tape_new(&machine.tape), 0);
	return machine;
}

static void machine_read(struct machine *machine, uint64_t error_ns)
{
	struct tape_anchor anchor = { machine->perf_ns, machine->wall_ns, machine->monotonic_ns,
				      machine->boottime_ns, error_ns };

	CHECK_EQ(array_push(&machine->tape->anchors, anchor), 0);
}

static void machine_run(struct machine *machine, uint64_t ns)
{
	int64_t more_ns = (int64_t)ns / 1000000 * machine->slew_ppm;

	machine->perf_ns += ns;
	machine->wall_ns += ns + more_ns;
	machine->monotonic_ns += ns + more_ns;
	machine->boottime_ns += ns + more_ns;
}

/* Runs `seconds` seconds, with a reading at the end of each second. */
static void machine_record(struct machine *machine, unsigned int seconds)
{
	while (seconds--) {
		machine_run(machine, NSEC_PER_SEC);
		machine_read(machine, 900);
	}
}

static uint64_t wall(const struct tape *tape, uint64_t perf_ns)
{
	return clocks_from_perf(tape, CLOCKS_REALTIME, perf_ns, NULL);
}

static uint64_t error_at(const struct tape *tape, enum clocks_clock clock, uint64_t perf_ns)
{
	uint64_t error_ns = UINT64_MAX;

	clocks_from_perf(tape, clock, perf_ns, &error_ns);
	return error_ns;
}

static void test_none(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = machine_new().tape;
	struct clocks_moment moments[CLOCKS_MOMENTS_MAX];
	uint64_t from_ns = 1, to_ns = 1;

	CHECK_EQ(wall(tape, START), 0);
	CHECK_EQ(clocks_to_perf(tape, CLOCKS_REALTIME, WALL, moments), 0);
	clocks_thin(tape, TOLERANCE);
	CHECK_EQ(tape->anchors.count, 0);
	clocks_span(tape, START, START + 5, &from_ns, &to_ns);
	CHECK(!from_ns && !to_ns);
}

static void test_one(void)
{
	struct clocks_moment moments[CLOCKS_MOMENTS_MAX];
	struct machine machine = machine_new();
	_cleanup_(cleanup_tape) struct tape *tape = machine.tape;

	machine_read(&machine, 900);
	CHECK_EQ(wall(tape, START - 5), WALL - 5);
	CHECK_EQ(wall(tape, START + 5), WALL + 5);
	CHECK_EQ(error_at(tape, CLOCKS_REALTIME, 0), 900);
	for (int off = -1000; off <= 1000; off += 500) {
		CHECK_EQ(clocks_to_perf(tape, CLOCKS_MONOTONIC, START - 5000 + off, moments), 1);
		CHECK_EQ(moments[0].perf_ns, START + off);
		CHECK_EQ(moments[0].error_ns, 900);
	}
	/* a time before the machine ran, and one so late that numbers overflow */
	CHECK_EQ(clocks_to_perf(tape, CLOCKS_REALTIME, WALL - START - 1, moments), 0);
	CHECK_EQ(clocks_to_perf(tape, CLOCKS_BOOTTIME, UINT64_MAX, moments), 1);
	clocks_thin(tape, TOLERANCE);
	CHECK_EQ(tape->anchors.count, 1);
	CHECK_EQ(tape->anchors.items[0].error_ns, 900);
}

static void test_beside(void)
{
	CHECK_EQ(clocks_error_beside(900, 0), 900);
	CHECK_EQ(clocks_error_beside(900, 80 * NSEC_PER_SEC), 40 * NSEC_PER_MSEC + 900);
	CHECK_EQ(clocks_error_beside(UINT64_MAX, NSEC_PER_SEC), UINT64_MAX);
}

/* An import knows at most the wall clock. */
static void test_a_clock_that_nobody_read(void)
{
	struct clocks_moment moments[CLOCKS_MOMENTS_MAX];
	struct machine machine = machine_new();
	_cleanup_(cleanup_tape) struct tape *tape = machine.tape;

	machine_record(&machine, 60);
	for (size_t i = 0; i < 60; i++)
		tape->anchors.items[i].monotonic_ns = tape->anchors.items[i].boottime_ns = 0;
	CHECK_EQ(clocks_from_perf(tape, CLOCKS_MONOTONIC, START, NULL), 0);
	CHECK_EQ(clocks_to_perf(tape, CLOCKS_BOOTTIME, START, moments), 0);
	clocks_thin(tape, TOLERANCE);
	CHECK_EQ(tape->anchors.count, 2);
}

static void test_slew(void)
{
	struct machine machine = machine_new();
	_cleanup_(cleanup_tape) struct tape *tape = machine.tape;

	machine_record(&machine, 10);
	machine.slew_ppm = 500;
	machine_record(&machine, 100);
	machine.slew_ppm = -500;
	machine_record(&machine, 10);
	CHECK_EQ(wall(tape, START + 10500000000), WALL + 10500000000 + 250000);
	CHECK_EQ(error_at(tape, CLOCKS_REALTIME, START + 10500000000), 900);
	CHECK_EQ(wall(tape, machine.perf_ns), machine.wall_ns);
	CHECK_EQ(wall(tape, machine.perf_ns + 9), machine.wall_ns + 9);
	/*
	 * the change between two readings stays below a step, because the line spans at most 20 s
	 */
	clocks_thin(tape, TOLERANCE);
	CHECK_EQ(tape->anchors.count, 2 + 5 + 1);
	CHECK_EQ(wall(tape, START + 10500000000), WALL + 10500000000 + 250000);
	CHECK_EQ(wall(tape, START + 100 * NSEC_PER_SEC),
		 WALL + 100 * NSEC_PER_SEC + 45 * NSEC_PER_MSEC);
}

static void test_steps(void)
{
	struct clocks_moment moments[CLOCKS_MOMENTS_MAX];
	struct machine machine = machine_new();
	_cleanup_(cleanup_tape) struct tape *tape = machine.tape;
	uint64_t back_ns, from_ns, to_ns;

	machine_record(&machine, 10);
	machine.wall_ns += 3 * NSEC_PER_SEC;
	machine_record(&machine, 10);
	machine.wall_ns -= 5 * NSEC_PER_SEC;
	back_ns = machine.wall_ns;
	machine_record(&machine, 10);
	machine.wall_ns -= 7 * NSEC_PER_SEC;
	machine_record(&machine, 10);
	/*
	 * the conversion applies a step at the later anchor, but it may have happened at any time
	 * since the anchor before
	 */
	CHECK_EQ(wall(tape, START + 10900000000), WALL + 10900000000);
	CHECK_EQ(wall(tape, START + 11 * NSEC_PER_SEC), WALL + 14 * NSEC_PER_SEC);
	CHECK(error_at(tape, CLOCKS_REALTIME, START + 10900000000) >= 3 * NSEC_PER_SEC);
	CHECK_EQ(error_at(tape, CLOCKS_MONOTONIC, START + 10900000000), 900);
	CHECK_EQ(error_at(tape, CLOCKS_REALTIME, START + 10 * NSEC_PER_SEC), 900);
	CHECK_EQ(error_at(tape, CLOCKS_REALTIME, START + 11 * NSEC_PER_SEC), 900);
	/* a step skipped this time */
	CHECK_EQ(clocks_to_perf(tape, CLOCKS_REALTIME, WALL + 13 * NSEC_PER_SEC, moments), 0);
	/* once, twice, three times */
	CHECK_EQ(clocks_to_perf(tape, CLOCKS_REALTIME, WALL + 5 * NSEC_PER_SEC, moments), 1);
	CHECK_EQ(clocks_to_perf(tape, CLOCKS_REALTIME, back_ns + 1500000000, moments), 2);
	CHECK_EQ(moments[1].perf_ns, START + 21500000000);
	CHECK_EQ(clocks_to_perf(tape, CLOCKS_REALTIME, back_ns + 4500000000, moments), 3);
	CHECK_EQ(moments[0].perf_ns, START + 19500000000);
	CHECK_EQ(moments[1].perf_ns, START + 24500000000);
	CHECK_EQ(moments[2].perf_ns, START + 31500000000);
	clocks_span(tape, START + 15 * NSEC_PER_SEC, START + 35 * NSEC_PER_SEC, &from_ns, &to_ns);
	CHECK_EQ(from_ns, WALL + 18 * NSEC_PER_SEC);
	CHECK_EQ(to_ns, WALL + 29 * NSEC_PER_SEC - 1);
	clocks_thin(tape, TOLERANCE);
	CHECK_EQ(tape->anchors.count, 8);
	CHECK_EQ(wall(tape, START + 10900000000), WALL + 10900000000);
	CHECK_EQ(wall(tape, START + 11 * NSEC_PER_SEC), WALL + 14 * NSEC_PER_SEC);
}

/* The clock was set back more often than the array has space for. */
static void test_many_steps_back(void)
{
	struct clocks_moment moments[CLOCKS_MOMENTS_MAX];
	struct machine machine = machine_new();
	_cleanup_(cleanup_tape) struct tape *tape = machine.tape;

	for (int i = 0; i < 20; i++) {
		machine_record(&machine, 2);
		machine.wall_ns -= 2 * NSEC_PER_SEC;
	}
	CHECK_EQ(clocks_to_perf(tape, CLOCKS_REALTIME, WALL + NSEC_PER_SEC, moments),
		 CLOCKS_MOMENTS_MAX);
	for (int i = 1; i < CLOCKS_MOMENTS_MAX; i++)
		CHECK(moments[i].perf_ns > moments[i - 1].perf_ns);
}

static void test_suspend(void)
{
	struct clocks_moment moments[CLOCKS_MOMENTS_MAX];
	struct machine machine = machine_new();
	_cleanup_(cleanup_tape) struct tape *tape = machine.tape;
	uint64_t asleep_ns;

	machine_record(&machine, 5);
	machine_run(&machine, NSEC_PER_SEC / 2);
	asleep_ns = machine.boottime_ns;
	machine.wall_ns += 3600 * NSEC_PER_SEC;
	machine.boottime_ns += 3600 * NSEC_PER_SEC;
	machine_record(&machine, 5);
	CHECK_EQ(clocks_from_perf(tape, CLOCKS_MONOTONIC, machine.perf_ns, NULL),
		 machine.monotonic_ns);
	CHECK_EQ(clocks_from_perf(tape, CLOCKS_BOOTTIME, machine.perf_ns, NULL),
		 machine.boottime_ns);
	CHECK(error_at(tape, CLOCKS_BOOTTIME, START + 5700000000) >= 3600 * NSEC_PER_SEC);
	CHECK_EQ(error_at(tape, CLOCKS_MONOTONIC, START + 5700000000), 900);
	CHECK_EQ(clocks_to_perf(tape, CLOCKS_BOOTTIME, asleep_ns + 60 * NSEC_PER_SEC, moments), 0);
	clocks_thin(tape, TOLERANCE);
	CHECK_EQ(tape->anchors.count, 4);
}

/*
 * The wall clock was set back between two tapes. Each tape contains its own moment but not the
 * other's.
 */
static void test_two_tapes_that_claim_one_time(void)
{
	struct machine first = machine_new(), second;
	_cleanup_(cleanup_tape) struct tape *one = first.tape, *two = NULL;
	struct clocks_moment a[CLOCKS_MOMENTS_MAX], b[CLOCKS_MOMENTS_MAX];

	machine_record(&first, 120);
	second = first;
	second.wall_ns -= 60 * NSEC_PER_SEC;
	CHECK_EQ(tape_new(&two), 0);
	second.tape = two;
	machine_record(&second, 120);
	CHECK_EQ(clocks_to_perf(one, CLOCKS_REALTIME, WALL + 90 * NSEC_PER_SEC, a), 1);
	CHECK_EQ(clocks_to_perf(two, CLOCKS_REALTIME, WALL + 90 * NSEC_PER_SEC, b), 1);
	CHECK_EQ(a[0].perf_ns, START + 90 * NSEC_PER_SEC);
	CHECK_EQ(b[0].perf_ns, START + 150 * NSEC_PER_SEC);
}

/*
 * Readings at random distances and with random errors, and anything that can happen to a clock
 * between them.
 */
static struct tape *random_tape(void)
{
	struct machine machine = machine_new();
	size_t readings = 1 + random_below(40);

	for (size_t i = 0; i < readings; i++) {
		machine_read(&machine, random_below(2) ? 0 : random_below(2000));
		machine_run(&machine, 1000000 + random_u64() % (3 * NSEC_PER_SEC));
		if (random_below(4) == 0)
			machine.slew_ppm = (int)random_below(1001) - 500;
		if (random_below(8) == 0)
			machine.wall_ns += random_u64() % (20 * NSEC_PER_SEC);
		if (random_below(8) == 0)
			machine.wall_ns -= random_u64() % (20 * NSEC_PER_SEC);
		if (random_below(8) == 0)
			machine.boottime_ns += random_u64() % (20 * NSEC_PER_SEC);
		if (random_below(2) == 0)
			machine.wall_ns += random_below(40000) - 20000ull;
	}
	return machine.tape;
}

static uint64_t random_moment(const struct tape *tape)
{
	uint64_t last_ns = tape->anchors.items[tape->anchors.count - 1].perf_ns;

	return START - NSEC_PER_SEC + random_u64() % (last_ns - START + 2 * NSEC_PER_SEC);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool comes_back(const struct tape *tape, enum clocks_clock clock, uint64_t perf_ns)
{
	uint64_t time_ns = clocks_from_perf(tape, clock, perf_ns, NULL);
	struct clocks_moment moments[CLOCKS_MOMENTS_MAX];
	size_t count = clocks_to_perf(tape, clock, time_ns, moments);
	bool found = false;

	for (size_t i = 0; i < count; i++) {
		uint64_t again_ns = clocks_from_perf(tape, clock, moments[i].perf_ns, NULL);

		found |= distance(moments[i].perf_ns, perf_ns) <= moments[i].error_ns;
		CHECK(distance(again_ns, time_ns) <= moments[i].error_ns);
		CHECK(!i || moments[i].perf_ns > moments[i - 1].perf_ns);
	}
	return found || count == CLOCKS_MOMENTS_MAX;
}

static void test_there_and_back(void)
{
	for (int round = 0; round < 2000; round++) {
		_cleanup_(cleanup_tape) struct tape *tape = random_tape();

		for (int i = 0; i < 50; i++)
			CHECK(comes_back(tape, random_below(CLOCKS_COUNT), random_moment(tape)));
		for (size_t i = 0; i < tape->anchors.count; i++)
			for (int off = -1; off <= 1; off++)
				CHECK(comes_back(tape, random_below(CLOCKS_COUNT),
						 tape->anchors.items[i].perf_ns + off));
	}
}

/*
 * The clock is set back by less than a step, within about the same time. It then seems to go
 * slowly, to stop, or to go back.
 */
static void test_put_back_a_little(void)
{
	for (uint64_t back_ns = 4000000; back_ns <= 8000000; back_ns += 500000) {
		struct machine machine = machine_new();
		_cleanup_(cleanup_tape) struct tape *tape = machine.tape;

		machine_read(&machine, 0);
		machine_run(&machine, 5000000);
		machine.wall_ns -= back_ns;
		machine_read(&machine, 0);
		for (uint64_t at_ns = 0; at_ns <= 20000000; at_ns += 12345)
			CHECK(comes_back(tape, CLOCKS_REALTIME, START - 1000000 + at_ns));
	}
}

static void test_span_holds_all(void)
{
	for (int round = 0; round < 2000; round++) {
		_cleanup_(cleanup_tape) struct tape *tape = random_tape();
		uint64_t a = random_moment(tape), b = random_moment(tape), from_ns, to_ns;

		clocks_span(tape, MIN(a, b), MAX(a, b), &from_ns, &to_ns);
		for (int i = 0; i < 50; i++) {
			uint64_t perf_ns = random_moment(tape);
			uint64_t wall_ns = wall(tape, perf_ns);

			if (perf_ns >= MIN(a, b) && perf_ns <= MAX(a, b))
				CHECK(wall_ns >= from_ns && wall_ns <= to_ns);
		}
	}
}

/* Thinning adds at most the tolerance to the error, and the stated error includes it. */
static void test_thinned(void)
{
	size_t before = 0, after = 0;

	for (int round = 0; round < 2000; round++) {
		uint64_t state = random_state;
		_cleanup_(cleanup_tape) struct tape *all = random_tape(), *thin;

		random_state = state;
		thin = random_tape();
		clocks_thin(thin, TOLERANCE);
		before += all->anchors.count;
		after += thin->anchors.count;
		for (int i = 0; i < 150; i++) {
			uint64_t perf_ns = random_moment(all), was_ns, is_ns, error_ns;
			enum clocks_clock clock = i % CLOCKS_COUNT;

			was_ns = clocks_from_perf(all, clock, perf_ns, NULL);
			is_ns = clocks_from_perf(thin, clock, perf_ns, &error_ns);
			CHECK(distance(was_ns, is_ns) <= TOLERANCE + 1);
			CHECK(distance(was_ns, is_ns) <= error_ns + 1);
		}
	}
	printf("# %zu of %zu left\n", after, before);
	CHECK(after < before);
}

CHECK_MAIN({ "no anchor", test_none }, { "one anchor", test_one },
	   { "times before and after the anchors", test_beside },
	   { "a clock that nobody read", test_a_clock_that_nobody_read },
	   { "a clock slewed at 500 ppm", test_slew },
	   { "a clock set ahead once and back twice", test_steps },
	   { "a clock set back twenty times", test_many_steps_back },
	   { "a suspended machine", test_suspend },
	   { "two tapes that claim one time", test_two_tapes_that_claim_one_time },
	   { "times survive both conversions", test_there_and_back },
	   { "a clock set back a little", test_put_back_a_little },
	   { "a span contains all times", test_span_holds_all },
	   { "anchors thinned within the tolerance", test_thinned })
