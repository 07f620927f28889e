// SPDX-License-Identifier: GPL-2.0-only
/* Saturated CPUs of a store, from what its segments say of busy CPUs. */
#include "tests/check.h"

#include "base/json.h"
#include "query/sums/spikes-run.h"
#include "query/sums/spikes.h"
#include "tests/spiky.h"

/* One that goes on over three segments is one, by whom, and how little the machine had to do. */
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

/* Seconds of a wall clock that runs fast are a hair shorter: two of them are two. */
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

/* A window shows what reaches into it, a list of CPUs what is on them. */
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

/* What was not recorded ends a spike, and is said. */
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

/* While most CPUs have much to do, only a CPU is shown that is in the kernel where the others are
 * not. */
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

/* Who asks for the kernel gets no more than who asks for all: one that is above a threshold is one
 * of many, if these are busy too. */
static void test_crowd_of_kernel(void)
{
	static const struct spiky_load crowd[] = {
		/* a high threshold: all are mostly in the kernel */
		{ 0, 2, 7, "a", 99 },
		{ 0, 12, 17, "e", 40 },
		{ 1, 2, 7, "b", 75 },
		{ 1, 12, 17, "f", 5 },
		{ 2, 2, 7, "c", 75 },
		{ 2, 12, 17, "g", 5 },
		/* a low one: all are mostly at work */
		{ 3, 12, 17, "h", 5 },
		/* and one where the others idle */
		{ 3, 21, 26, "i", 40 },
	};
	struct tapes_store store;

	make_store(&store, 30, crowd, ARRAY_SIZE(crowd), 0, 0);
	check_crowd(&store, 0, 1, 7);
	check_crowd(&store, 20, 1, 4);
	check_crowd(&store, 90, 0, 1);
	tapes_store_done(&store);
}

/* Seconds of a host, each a segment, that has had eight CPUs in one of them, and else two. */
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
	CHECK_EQ(spikes_tell_cpus(reader, &filter.cpus, &spikes, NULL), 0);
	CHECK_STR(spikes.coverage.left_out, left_out);
	CHECK_EQ(spikes.coverage.left_out_all, all);
	CHECK_EQ(spikes.coverage.left_out_in_part, in_part);
	spikes_done(&spikes);
	filter_done(&filter);
}

/* That a CPU was offline is told of up to 64 segments, and of more to who asks for all of it; who
 * asks for that CPU has nothing covered. */
static void test_offline(void)
{
	/* segments, strict, told */
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

/* Of many segments some are looked at, and the others too before it is said that a CPU never was
 * there. */
static void test_cpus(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;

	make_small_store(&store, 70, 41);
	check_cpus(&store, "1", false, "", false, false);
	check_cpus(&store, "7", false, "7", false, true);
	check_cpus(&store, "9", false, "9", true, false);
	check_cpus(&store, "1,7", false, "7", false, false); /* these are not all looked at */
	check_cpus(&store, "1,7", true, "7", false, true); /* unless the losses are */
}

/* Of many, those in the kernel come first, then the longest; they stay in order of time. */
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

/* Each object is JSON, and ends with its line. */
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
	CHECK(strstr(
		(const char *)json.data,
		"\"thread\":{\"comm\":\"spinner\",\"pid\":11,\"tid\":101,\"share\":1},"
		"\"function\":{\"symbol\":\"read_zero\",\"share\":1},\"kernel_stretch\":null}\n"));
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

/* Two of many that have most are found, with no more than they have. */
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

CHECK_MAIN({ "CPUs that were offline", test_offline },
	   { "one that goes on over segments", test_joined }, { "thresholds", test_thresholds },
	   { "a clock that runs fast", test_fast_clock }, { "windows and CPUs", test_asked },
	   { "what was not recorded", test_gap }, { "while most CPUs are busy", test_crowd },
	   { "CPUs that were not recorded", test_cpus },
	   { "while most CPUs are busy, of the kernel's", test_crowd_of_kernel },
	   { "the ones that matter most", test_limit }, { "as JSON", test_json },
	   { "what is most of many", test_top })
