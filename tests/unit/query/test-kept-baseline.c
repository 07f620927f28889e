// SPDX-License-Identifier: GPL-2.0-only
/*
 * A baseline in a tape stays the same after storing and reading it, also if an attacker wrote its
 * rows.
 */
#include "tests/tapes.h"

#include "query/sums/kept-baseline.h"
#include "tape/segment/segment.h"

static uint32_t name_of(struct tally *tally, const char *text)
{
	uint32_t name;

	CHECK_EQ(tally_name(tally, text, strlen(text), &name), 0);
	return name;
}

/* Threads "both" and "only-usual", a function "work", and CPU 5. */
static struct baseline make_baseline(void)
{
	struct baseline baseline = { .from_ns = 100,
				     .to_ns = 900,
				     .names_ns = 500 * NSEC_PER_SEC,
				     .cpus_ns = 50 * NSEC_PER_SEC,
				     .rest = true,
				     .segments = 3,
				     .of = 4 };
	struct tally *tally;
	uint32_t work, both, only;

	CHECK_EQ(tally_new(&tally), 0);
	tally->samples = 77;
	tally->sample_ns = 10;
	tally->host_cpus = 8;
	tally->all.ns[STACK_CLASS_USER] = 11;
	both = name_of(tally, "both");
	only = name_of(tally, "only-usual");
	tally->groups.items[both].ns[STACK_CLASS_KERNEL] = 12;
	tally->groups.items[only].ns[STACK_CLASS_IRQ] = 13;
	work = name_of(tally, "work");
	tally->functions.items[work] = (struct tally_function){ 14, 15, 0, true };
	CHECK_EQ(tally_cpu(tally, 5), 0);
	tally->cpus.items[5].ns[STACK_CLASS_IDLE] = 16;
	baseline.tally = tally;
	return baseline;
}

/* Stores the tape as a segment and reads it back. */
static struct tape *stored(const struct tape *tape)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_CONTEXT, 1 };
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct segment_input input;
	struct tape *back;

	CHECK_EQ(segment_encode(tape, SEGMENT_USUAL, SIZE_MAX, &bytes), 0);
	input = segment_input_memory(bytes.data, bytes.size);
	CHECK_EQ(segment_decode(&input, &want, &back, NULL), 0);
	return back;
}

static void test_round_trip(void)
{
	_cleanup_(baseline_done) struct baseline made = make_baseline(), read = { 0 };
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10), *back = NULL;
	_cleanup_(cleanup_tally) struct tally *window = NULL;
	uint32_t both, work;

	CHECK_EQ(tally_new(&window), 0);
	name_of(window, "work");
	name_of(window, "both");
	name_of(window, "only-window");
	CHECK_EQ(kept_baseline_read(tape, &read), 0);
	CHECK_EQ(kept_baseline_add(&made, window, tape), 0);
	back = stored(tape);
	CHECK_EQ(kept_baseline_read(back, &read), 1);
	CHECK_EQ(read.from_ns, 100);
	CHECK_EQ(read.to_ns, 900);
	CHECK_EQ(read.names_ns, made.names_ns);
	CHECK_EQ(read.cpus_ns, made.cpus_ns);
	CHECK(read.rest && !read.unfiltered);
	CHECK_EQ(read.segments, 3);
	CHECK_EQ(read.of, 4);
	CHECK_EQ(read.tally->samples, 77);
	CHECK_EQ(read.tally->sample_ns, 10);
	CHECK_EQ(read.tally->host_cpus, 8);
	CHECK_EQ(read.tally->all.ns[STACK_CLASS_USER], 11);
	CHECK_EQ(read.tally->cpus.count, 6);
	CHECK_EQ(read.tally->cpus.items[5].ns[STACK_CLASS_IDLE], 16);
	both = strings_find(&read.tally->names, "both", 4);
	CHECK_EQ(read.tally->groups.items[both].ns[STACK_CLASS_KERNEL], 12);
	work = strings_find(&read.tally->names, "work", 4);
	CHECK_EQ(read.tally->functions.items[work].self_ns, 14);
	CHECK_EQ(read.tally->functions.items[work].total_ns, 15);
	CHECK(read.tally->functions.items[work].kernel);
	CHECK_EQ(strings_find(&read.tally->names, "only-usual", 10), 0);
	CHECK_EQ(strings_find(&read.tally->names, "only-window", 11), 0);
}

static void test_nothing(void)
{
	_cleanup_(baseline_done) struct baseline made = make_baseline();
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10);

	made.names_ns = 0;
	CHECK_EQ(kept_baseline_add(&made, made.tally, tape), 0);
	CHECK_EQ(tape->usual.count, 0);
}

/* Rows of later kinds, rows with too few or too many values, and impossible CPU numbers. */
static void test_odd(void)
{
	static const uint64_t values[] = { UINT64_MAX, UINT64_MAX, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10);
	_cleanup_(baseline_done) struct baseline read = { 0 };
	uint32_t name;

	CHECK_EQ(tape_add_usual(tape, 99, "later", values, ARRAY_SIZE(values)), 0);
	CHECK_EQ(tape_add_usual(tape, TAPE_USUAL_CPU, "", values, ARRAY_SIZE(values)), 0);
	CHECK_EQ(tape_add_usual(tape, TAPE_USUAL_THREADS, "", values, 3), 0);
	CHECK_EQ(tape_add_usual(tape, TAPE_USUAL_FUNCTION, "few", values + 2, 1), 0);
	CHECK_EQ(tape_add_usual(tape, TAPE_USUAL_THREADS, "none", values, 0), 0);
	CHECK_EQ(tape_add_usual(tape, TAPE_USUAL_SPAN, "", values, ARRAY_SIZE(values)), 0);
	CHECK_EQ(kept_baseline_read(tape, &read), 1);
	CHECK_EQ(read.tally->cpus.count, 0);
	CHECK_EQ(strings_find(&read.tally->names, "later", 5), 0);
	name = strings_find(&read.tally->names, "few", 3);
	CHECK_EQ(read.tally->functions.items[name].self_ns, 3);
	CHECK_EQ(read.tally->functions.items[name].total_ns, 0);
	CHECK_EQ(read.tally->host_cpus, 10);
}

CHECK_MAIN({ "a baseline comes back from a segment", test_round_trip },
	   { "without a baseline nothing is kept", test_nothing },
	   { "odd rows do no harm", test_odd })
