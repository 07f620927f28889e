// SPDX-License-Identifier: GPL-2.0-only
/* Finds the saturated CPUs of a store by the busy CPUs that its segments store. */
#include "tests/check.h"

#include "base/json.h"
#include "query/sums/spikes-run.h"
#include "query/sums/spikes.h"
#include "tests/spiky.h"

/* A spike across three segments is one spike. It names the process and the load of the machine. */
static void test_joined(void)
{
	struct spikes_options options = usual();
	const struct spike *spike;
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 40, spiky_loads, ARRAY_SIZE(spiky_loads), 0, 0);
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 2);
	spike = &spikes.list.items[0];
	check_spike(spike, 1, 7, 33);
	CHECK(spike->busy > 0.99 && spike->kernel > 0.99 && spike->irq == 0 && spike->gauges < 0);
	CHECK(spike->machine > 0.25 && spike->machine < 0.30);
	CHECK_EQ(spikes.threads.items[spike->thread].tid, 101);
	CHECK_STR(strings_at(&spikes.names, spikes.threads.items[spike->thread].comm), "spinner");
	CHECK_STR(strings_at(&spikes.names, spike->function), "read_zero");
	CHECK(spike->thread_share > 0.99 && spike->function_share > 0.99);
	check_spike(&spikes.list.items[1], 2, 12, 15);
	CHECK(spikes.list.items[1].kernel == 0);
	CHECK_EQ(spikes.segments, 4);
	CHECK_EQ(spikes.read, 0);
	CHECK_EQ(spikes.coverage.covered_ns, 40 * NSEC_PER_SEC);
	CHECK_EQ(spikes.window.from_ns, TAPES_REALTIME);
	spikes_done(&spikes);
	tapes_store_done(&store);
}

static void test_thresholds(void)
{
	static const struct {
		unsigned int min, kernel;
		size_t count;
	} cases[] = { { 0, 0, 3 }, { 1, 0, 3 },	 { 2, 0, 2 },  { 3, 0, 2 },
		      { 4, 0, 1 }, { 27, 0, 0 }, { 0, 90, 1 }, { 26, 100, 1 } };
	struct tapes_store store;

	make_store(&store, 40, spiky_loads, ARRAY_SIZE(spiky_loads), 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct spikes_options options = usual();
		struct spikes spikes;

		options.min_ns = cases[i].min * NSEC_PER_SEC;
		options.kernel = cases[i].kernel;
		find(&store, &options, &spikes);
		CHECK_EQ(spikes.list.count, cases[i].count);
		spikes_done(&spikes);
	}
	tapes_store_done(&store);
}

/*
 * If the wall clock runs fast, its seconds are slightly shorter than those of the perf clock. Two
 * of them still form a spike of two seconds.
 */
static void test_fast_clock(void)
{
	static const struct spiky_load two[] = { { 1, 3, 5, "two", true },
						 { 2, 12, 13, "one", true } };
	struct spikes_options options = usual();
	struct tapes_store store;
	struct spikes spikes;

	tapes_store_init(&store);
	for (unsigned int at = 0; at < 20; at += 10) {
		struct tape *tape = make_tape(at, at + 10, two, ARRAY_SIZE(two));

		tapes_anchor(tape, TAPES_PERF + 20 * NSEC_PER_SEC,
			     TAPES_REALTIME + 20 * NSEC_PER_SEC + 6 * NSEC_PER_MSEC);
		tapes_store_put(&store, tape);
	}
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 1);
	CHECK(spikes.list.items[0].length_ns < 2 * NSEC_PER_SEC);
	CHECK(spikes.list.items[0].length_ns > 2 * NSEC_PER_SEC - 2 * NSEC_PER_MSEC);
	spikes_done(&spikes);
	tapes_store_done(&store);
}

/*
 * A window shows each spike that reaches into it, and a list of CPUs selects the spikes on these
 * CPUs.
 */
static void test_asked(void)
{
	struct spikes_options options = usual();
	struct filter filter = { 0 };
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 40, spiky_loads, ARRAY_SIZE(spiky_loads), 0, 0);
	options.question.window = (struct window){ .from_ns = TAPES_REALTIME + 18 * NSEC_PER_SEC,
						   .to_ns = TAPES_REALTIME + 25 * NSEC_PER_SEC };
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 1);
	check_spike(&spikes.list.items[0], 1, 7, 33);
	CHECK_EQ(spikes.coverage.covered_ns, 7 * NSEC_PER_SEC);
	spikes_done(&spikes);
	options = usual();
	CHECK_EQ(cpu_filter_add(&filter.cpus, 2), 0);
	options.question.filter = &filter;
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 1);
	check_spike(&spikes.list.items[0], 2, 12, 15);
	spikes_done(&spikes);
	filter_done(&filter);
	tapes_store_done(&store);
}

/* A gap ends a spike, and is reported. */
static void test_gap(void)
{
	struct spikes_options options = usual();
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 40, spiky_loads, 1, 10, 20);
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 2);
	check_spike(&spikes.list.items[0], 1, 7, 10);
	check_spike(&spikes.list.items[1], 1, 20, 33);
	CHECK_EQ(spikes.coverage.covered_ns, 30 * NSEC_PER_SEC);
	spikes_done(&spikes);
	tapes_store_done(&store);
}

/*
 * While most CPUs are busy, a spike counts only if its CPU is in the kernel and the others are not.
 */
static void test_crowd(void)
{
	static const struct spiky_load crowd[] = {
		{ 0, 5, 15, "a", true },
		{ 1, 5, 15, "b", true },
		{ 2, 5, 12, "c", true },
		{ 3, 7, 10, "spinner", false },
	};
	struct spikes_options options = usual();
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 20, crowd, ARRAY_SIZE(crowd), 0, 0);
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 3);
	check_spike(&spikes.list.items[0], 0, 5, 15);
	CHECK(spikes.list.items[0].crowded > 0.69 && spikes.list.items[0].crowded < 0.71);
	check_spike(&spikes.list.items[2], 3, 7, 10);
	CHECK(spikes.list.items[2].crowded == 0);
	CHECK_EQ(spikes.crowded, 1);
	spikes_done(&spikes);
	options.all = true;
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 4);
	CHECK_EQ(spikes.crowded, 0);
	spikes_done(&spikes);
	tapes_store_done(&store);
}

static void check_crowd(const struct tapes_store *store, unsigned int kernel, size_t shown,
			uint64_t crowded)
{
	struct spikes_options options = usual();
	struct spikes spikes;

	options.kernel = kernel;
	find(store, &options, &spikes);
	CHECK_EQ(spikes.list.count, shown);
	CHECK_EQ(spikes.crowded, crowded);
	spikes_done(&spikes);
}

/*
 * --kernel never shows a spike that the whole answer leaves out: a CPU above the threshold is
 * crowded if the other CPUs are busy too, whether or not those CPUs are above the threshold.
 */
static void test_crowd_of_kernel(void)
{
	static const struct spiky_load crowd[] = {
		/*
		 * with a high threshold, one CPU is above it, but all CPUs are mostly in the kernel
		 */
		{ 0, 2, 7, "a", 99 },
		{ 0, 12, 17, "e", 40 },
		{ 1, 2, 7, "b", 75 },
		{ 1, 12, 17, "f", 5 },
		{ 2, 2, 7, "c", 75 },
		{ 2, 12, 17, "g", 5 },
		/* with a low threshold, one CPU is above it, but all CPUs are busy */
		{ 3, 12, 17, "h", 5 },
		/* one CPU is busy while the others idle, so it is the only spike */
		{ 3, 21, 26, "i", 40 },
	};
	struct tapes_store store;

	make_store(&store, 30, crowd, ARRAY_SIZE(crowd), 0, 0);
	check_crowd(&store, 0, 1, 7);
	check_crowd(&store, 20, 1, 4);
	check_crowd(&store, 90, 0, 1);
	tapes_store_done(&store);
}

/* One segment per second. The host has eight CPUs in one of them, and two in the others. */
static void make_small_store(struct tapes_store *store, unsigned int count, unsigned int with_more)
{
	tapes_store_init(store);
	for (unsigned int at = 0; at < count; at++) {
		struct tape *tape = tapes_new(at, at + 1);

		CHECK_EQ(tape_add_fact(tape, "cpus_online", at == with_more ? "0-7" : "0-1"), 0);
		tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 0, 0, "swapper"),
			     tapes_kernel(tape, "do_idle"));
		tapes_store_put(store, tape);
	}
}

static void check_cpus(const struct tapes_store *store, const char *asked, bool losses,
		       const char *left_out, bool all, bool in_part)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct filter filter = { 0 };
	struct spikes_options options = usual();
	struct spikes spikes;

	CHECK_EQ(cpu_filter_parse(asked, &filter.cpus, NULL), 0);
	options.losses = losses;
	options.question.filter = &filter;
	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(spikes_find(reader, &options, &spikes, NULL), 0);
	CHECK_EQ(spikes_add_unrecorded_cpus(reader, &filter.cpus, &spikes, NULL), 0);
	CHECK_STR(spikes.coverage.left_out, left_out);
	CHECK_EQ(spikes.coverage.left_out_all, all);
	CHECK_EQ(spikes.coverage.left_out_in_part, in_part);
	spikes_done(&spikes);
	filter_done(&filter);
}

/*
 * For up to 64 segments, the answer reports offline CPUs; with --strict also for more. A query for
 * an offline CPU lacks coverage.
 */
static void test_offline(void)
{
	/* segments, strict, reported */
	static const unsigned int cases[][3] = { { 64, 0, 1 }, { 65, 0, 0 }, { 65, 1, 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		struct spikes_options options = usual();
		struct filter filter = { 0 };
		struct spikes spikes;

		tapes_store_init(&store);
		for (unsigned int at = 0; at < cases[i][0]; at++) {
			struct tape *tape = tapes_new(at, at + 1);
			const struct tape_loss loss = { TAPE_LOSS_OFFLINE, 1, tape->begin_ns,
							tape->end_ns, 1 };

			CHECK_EQ(array_push(&tape->losses, loss), 0);
			tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 0, 0, "swapper"),
				     tapes_kernel(tape, "do_idle"));
			tapes_store_put(&store, tape);
		}
		options.losses = cases[i][1];
		find(&store, &options, &spikes);
		CHECK_EQ(spikes.losses, cases[i][2]);
		CHECK_EQ(spikes.coverage.offline, cases[i][2]);
		CHECK_EQ(spikes.coverage.covered_ns, cases[i][0] * NSEC_PER_SEC);
		spikes_done(&spikes);
		CHECK_EQ(cpu_filter_add(&filter.cpus, 1), 0);
		options.question.filter = &filter;
		find(&store, &options, &spikes);
		CHECK_EQ(spikes.coverage.covered_ns, cases[i][2] ? 0 : cases[i][0] * NSEC_PER_SEC);
		spikes_done(&spikes);
		filter_done(&filter);
	}
}

/*
 * A query checks only some of many segments for CPUs. It checks all segments before it says that a
 * CPU never existed.
 */
static void test_cpus(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;

	make_small_store(&store, 70, 41);
	check_cpus(&store, "1", false, "", false, false);
	check_cpus(&store, "7", false, "7", false, true);
	check_cpus(&store, "9", false, "9", true, false);
	/* only some of these segments are checked */
	check_cpus(&store, "1,7", false, "7", false, false);
	/* with all losses, every segment is checked */
	check_cpus(&store, "1,7", true, "7", false, true);
}

/*
 * Spikes in the kernel rank first, then the longest spikes. The remaining spikes stay in order of
 * time.
 */
static void test_limit(void)
{
	static const struct spiky_load many[] = {
		{ 0, 0, 9, "long", true },
		{ 0, 10, 13, "shorter", true },
		{ 1, 11, 14, "kernel", false },
	};
	struct spikes_options options = usual();
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 20, many, ARRAY_SIZE(many), 0, 0);
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 3);
	spikes_limit(&spikes, 2);
	CHECK_EQ(spikes.list.count, 2);
	check_spike(&spikes.list.items[0], 0, 0, 9);
	check_spike(&spikes.list.items[1], 1, 11, 14);
	spikes_limit(&spikes, 1);
	check_spike(&spikes.list.items[0], 1, 11, 14);
	spikes_done(&spikes);
	tapes_store_done(&store);
}

/*
 * The busiest thread has a fifth of the time, and all other threads have another function. The
 * function beside the thread is the thread's own. Beyond the limit, the function is left out.
 */
static void test_leaders(void)
{
	static const struct spiky_load loads[] = {
		{ 1, 2, 5, "dd", 0 },	   { 1, 5, 7, "gzip-a", 1 },   { 1, 7, 9, "gzip-b", 1 },
		{ 1, 9, 11, "gzip-c", 1 }, { 1, 11, 13, "gzip-d", 1 }, { 1, 13, 15, "gzip-e", 1 },
	};
	struct spikes_options options = usual();
	const struct spike_leader *leader;
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 20, loads, ARRAY_SIZE(loads), 0, 0);
	for (size_t limit = 0; limit < 2; limit++) {
		find_some(&store, &options, limit, &spikes);
		CHECK_EQ(spikes.list.count, 1);
		leader = &spikes.list.items[0].leader;
		CHECK_STR(strings_at(&spikes.names, spikes.list.items[0].function), "main");
		CHECK_STR(strings_at(&spikes.names, leader->comm), "dd");
		CHECK_STR(strings_at(&spikes.names, leader->function), limit ? "read_zero" : "");
		CHECK(leader->share > 0.19 && leader->share < 0.25);
		CHECK(!limit || (leader->function_share > 0.2 && leader->threads == 1));
		spikes_done(&spikes);
	}
	tapes_store_done(&store);
}

/* Each object is JSON and ends with a newline. */
static void test_json(void)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };
	struct spikes_options options = usual();
	struct json_reader reader;
	struct json_token token;
	struct tapes_store store;
	struct spikes spikes;
	int r;

	make_store(&store, 40, spiky_loads, 1, 0, 0);
	find(&store, &options, &spikes);
	spikes_put_json(&spikes, &json);
	buffer_u8(&json, 0);
	CHECK(strstr((const char *)json.data, "{\"from\":\"2026-11-18T03:12:07.000000Z\",\"to\":"
					      "\"2026-11-18T03:12:33.000000Z\",\"seconds\":26,"));
	CHECK(strstr((const char *)json.data,
		     "\"thread\":{\"comm\":\"spinner\",\"pid\":11,\"tid\":101,\"share\":1},"
		     "\"function\":{\"symbol\":\"read_zero\",\"share\":1},"
		     "\"leader\":{\"comm\":\"spinner\",\"threads\":1,\"pid\":11,\"tid\":101,"
		     "\"share\":1,\"function\":\"read_zero\",\"function_share\":1},"
		     "\"kernel_stretch\":null}\n"));
	CHECK(strstr(
		(const char *)json.data,
		"{\"spikes\":{\"found\":1,\"shown\":1,\"left_out_limit\":0,\"left_out_crowded\":0,"
		"\"segments\":4,\"segments_unknown\":0,\"losses_told\":true}}\n"));
	json_reader_init(&reader, (const char *)json.data, json.size - 1);
	while ((r = json_next(&reader, &token)) == 1)
		;
	CHECK_EQ(r, 0);
	spikes_done(&spikes);
	tapes_store_done(&store);
}

/* The two most frequent of many IDs are found, with exact counts. */
static void test_top(void)
{
	struct spikes_top top = { 0 };
	uint64_t weight;

	for (uint32_t i = 0; i < 3000; i++)
		spikes_top_add(&top, i % 3 == 0 ? 7 : 100 + i, 1);
	CHECK_EQ(spikes_top_best(&top, &weight), 7);
	CHECK(weight <= 1000 && weight >= 1000 - 3000 / (SPIKES_TOP + 1));
	top = (struct spikes_top){ 0 };
	spikes_top_add(&top, 0, 5);
	CHECK_EQ(spikes_top_best(&top, &weight), 0);
	for (uint32_t i = 1; i <= SPIKES_TOP; i++)
		spikes_top_add(&top, i, i);
	CHECK_EQ(spikes_top_best(&top, &weight), SPIKES_TOP);
	CHECK_EQ(weight, SPIKES_TOP);
}

CHECK_MAIN({ "offline CPUs are reported", test_offline },
	   { "a spike across segments is one", test_joined },
	   { "thresholds choose spikes", test_thresholds },
	   { "a wall clock that runs fast", test_fast_clock },
	   { "windows and CPUs choose spikes", test_asked }, { "a gap ends a spike", test_gap },
	   { "spikes while most CPUs are busy", test_crowd },
	   { "CPUs that were not recorded", test_cpus },
	   { "kernel spikes while most CPUs are busy", test_crowd_of_kernel },
	   { "the most important spikes come first", test_limit },
	   { "a function is its thread's own", test_leaders }, { "spikes as JSON", test_json },
	   { "the largest of many are found", test_top })
