// SPDX-License-Identifier: GPL-2.0-only
/* Text about spikes: the kernel's part, the table, and the error of their times. */
#include "tests/check.h"

#include "draw/spikes-table.h"
#include "tests/spiky.h"

/*
 * A program works for half a minute. In the middle, across the end of a segment, the kernel has the
 * CPU for six seconds.
 */
static const struct spiky_load worked[] = {
	{ 1, 2, 17, "a-long-trainers", true },	{ 1, 17, 23, "a-long-trainers", false },
	{ 1, 23, 30, "a-long-trainers", true }, { 1, 30, 31, "a-long-trainers", false },
	{ 1, 31, 36, "a-long-trainers", true }, { 2, 3, 10, "worker", true },
	{ 3, 5, 9, "reader", false },
};

static void test_stretch(void)
{
	struct spikes_options options = usual();
	const struct spike *spike;
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 40, worked, ARRAY_SIZE(worked), 0, 0);
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 3);
	spike = &spikes.list.items[0];
	check_spike(spike, 1, 2, 36);
	CHECK(spike->kernel > 0.19 && spike->kernel < 0.22);
	CHECK_EQ(spike->stretch.from_ns, TAPES_REALTIME + 17 * NSEC_PER_SEC);
	CHECK_EQ(spike->stretch.length_ns, 6 * NSEC_PER_SEC);
	CHECK(spike->stretch.kernel > 0.98);
	CHECK_STR(strings_at(&spikes.names, spike->stretch.function), "read_zero");
	CHECK_STR(spike_stretch_comm(&spikes, &spike->stretch), "a-long-trainers");
	CHECK(spike->stretch.is_pair);
	CHECK(!spike_stretch_comm(&spikes, &spikes.list.items[1].stretch));
	CHECK_EQ(spikes.list.items[1].stretch.length_ns, 0);
	CHECK_EQ(spikes.list.items[2].stretch.length_ns, 0);
	/* a long spike in the kernel ranks before a short one, and both before unusual user code */
	spikes_limit(&spikes, 2);
	CHECK_EQ(spikes.limited, 1);
	check_spike(&spikes.list.items[0], 1, 2, 36);
	check_spike(&spikes.list.items[1], 3, 5, 9);
	spikes_limit(&spikes, 1);
	check_spike(&spikes.list.items[0], 1, 2, 36);
	spikes_done(&spikes);
	options.min_ns = 7 * NSEC_PER_SEC;
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.items[0].stretch.length_ns, 0);
	spikes_done(&spikes);
	tapes_store_done(&store);
}

/* In a window, a long spike has the shares and names of the window only. */
static void test_clip(void)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct spikes_options options = usual();
	const struct spike *spike;
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 40, worked, 5, 0, 0);
	options.question.window = (struct window){ .from_ns = TAPES_REALTIME + 18 * NSEC_PER_SEC,
						   .to_ns = TAPES_REALTIME + 22 * NSEC_PER_SEC };
	options.clip = true;
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 1);
	spike = &spikes.list.items[0];
	check_spike(spike, 1, 2, 36);
	CHECK_EQ(spike->counted_ns, 4 * NSEC_PER_SEC);
	CHECK(spike->kernel > 0.98);
	CHECK_EQ(spike->stretch.length_ns, 0);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(spikes_find_leaders(reader, &options.question, 1, &spikes, NULL), 0);
	CHECK_STR(strings_at(&spikes.names, spike->leader.function), "read_zero");
	CHECK_EQ(spike->leader.part_ns, 0);
	spikes_done(&spikes);
	/* without `clip`, the shares are those of the whole spike */
	options.clip = false;
	find(&store, &options, &spikes);
	spike = &spikes.list.items[0];
	CHECK_EQ(spike->counted_ns, 34 * NSEC_PER_SEC);
	CHECK(spike->kernel < 0.22);
	spikes_done(&spikes);
	tapes_store_done(&store);
}

static void check_table(const struct spikes *spikes, unsigned int width, const char *wanted)
{
	const struct terminal terminal = { .width = width ? width : 80, .wrap = width };
	_cleanup_(buffer_done) struct buffer text = { 0 };

	spikes_table_draw(&(struct spikes_table){ spikes, NULL, true }, &terminal, &text);
	buffer_u8(&text, 0);
	if (!strstr((char *)text.data, wanted))
		CHECK_FAIL("of %u columns: %s", width, (char *)text.data);
	CHECK(strstr((char *)text.data, "34 s     1"));
	CHECK(strstr((char *)text.data, "11/101 "));
	for (const char *at = (char *)text.data; *at && width; at += strcspn(at, "\n") + 1)
		if (strcspn(at, "\n") > width)
			CHECK_FAIL("of %u columns: %s", width, at);
}

/* The table fits its columns: numbers stay whole, and names keep both ends. */
static void test_table(void)
{
	struct spikes_options options = usual();
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 40, worked, 5, 0, 0);
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 1);
	for (unsigned int width = 40; width < 220; width++)
		check_table(&spikes, width, "read_zero");
	check_table(&spikes, 80,
		    "time             duration   CPU     busy   kernel      irq  machine\n"
		    "11-18 03:12:02       34 s     1  100.0 %   20.6 %    0.0 %   25.0 %\n"
		    "    a-long-trainers 11/101 100 %  in main 79.4 %\n");
	check_table(&spikes, 40,
		    "11-18 03:12:02       34 s     1   20.6 %\n"
		    "    a-long-trainers 11/101 100 %\n");
	check_table(&spikes, 40,
		    "    busy 100 %; irq 0.0 %,\n"
		    "    machine 25.0 %; 100 % in the kernel\n"
		    "    for 6 s from 03:12:17");
	check_table(&spikes, 0,
		    "; 100 % in the kernel for 6 s from 03:12:17 on: a-long-trainers in read_zero");
	spikes_done(&spikes);
	tapes_store_done(&store);
}

/* A long kind of incident keeps its number and both ends. */
static void test_long_incident(void)
{
	char incident[] = "17 ena.device_requested_reset", *const incidents[] = { incident };
	const struct terminal terminal = { .width = 200, .wrap = 200 };
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct spikes_options options = usual();
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 40, worked, 5, 0, 0);
	find(&store, &options, &spikes);
	spikes_table_draw(&(struct spikes_table){ &spikes, incidents, true }, &terminal, &text);
	buffer_u8(&text, 0);
	CHECK(strstr((char *)text.data, "  17 ena.de..ted_reset  a-long"));
	spikes_done(&spikes);
	tapes_store_done(&store);
}

/* A name from outside never moves the cursor, in whatever part of the table it stands. */
static void test_hostile(void)
{
	static const struct spiky_load hostile[] = { { 1, 2, 17, "a\033[2J\n", true },
						     { 1, 17, 23, "a\033[2J\n", false } };
	struct spikes_options options = usual();
	struct tapes_store store;
	struct spikes spikes;
	struct spike *spike;

	make_store(&store, 40, hostile, ARRAY_SIZE(hostile), 0, 0);
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 1);
	spike = &spikes.list.items[0];
	spike->leader.function = spike->stretch.function = spike->leader.comm;
	for (unsigned int width = 0; width < 200; width += 40) {
		const struct terminal terminal = { .width = 80, .wrap = width };
		_cleanup_(buffer_done) struct buffer text = { 0 };

		spikes_table_draw(&(struct spikes_table){ &spikes, NULL, true }, &terminal, &text);
		buffer_u8(&text, 0);
		CHECK(!strchr((char *)text.data, '\033'));
		CHECK(strstr((char *)text.data, " on: a?[2J? in a?[2J?") || width);
	}
	spikes_done(&spikes);
	tapes_store_done(&store);
}

static void test_clock(void)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct spikes_options options = usual();
	struct error error = { 0 };
	struct tapes_store store;
	struct spikes spikes;

	make_store(&store, 40, worked, ARRAY_SIZE(worked), 0, 0);
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.coverage.clock_error_ns, 0);
	CHECK_EQ(store_reader_open(store.path, &reader, &error), 0);
	CHECK_EQ(spikes_add_clock_error(reader, &spikes, &error), 0);
	CHECK_EQ(spikes.coverage.clock_error_ns, 900);
	spikes_done(&spikes);
	tapes_store_done(&store);
}

CHECK_MAIN({ "a spike of the kernel is one stretch", test_stretch },
	   { "a window takes its part of a spike", test_clip },
	   { "a table fits its columns", test_table },
	   { "a long incident keeps its ends", test_long_incident },
	   { "hostile names do no harm", test_hostile },
	   { "the error of times is shown", test_clock })
