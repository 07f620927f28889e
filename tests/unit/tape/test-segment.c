// SPDX-License-Identifier: GPL-2.0-only
/*
 * A decoded segment means the same as its tape, and a decoder is safe whatever the file contains.
 */
#include "tests/check.h"

#include <errno.h>

#include "tape/segment/contents.h"
#include "tape/segment/section.h"
#include "tape/segment/segment.h"
#include "tests/coded.h"
#include "tests/random-tape.h"
#include "tests/tapes.h"
#include "tests/tier.h"

/* Puts the function of a leaf as text. */
static void put_sum_key(const struct tape *tape, uint32_t comm, uint32_t stack, uint32_t leaf,
			struct buffer *key)
{
	const struct tape_frame *frame = &tape->frames.items[leaf];
	uint64_t start = frame->symbol ? frame->address - frame->offset : frame->address & ~4095ull;

	buffer_printf(key, "%s|%u:%s:%" PRIx64, tape_string(tape, comm), frame->module,
		      tape_string(tape, frame->symbol), start);
	for (; stack; stack = tape->stacks.items[stack].parent)
		buffer_printf(
			key, ";%u:%" PRIx64 ":%s",
			tape->frames.items[tape->stacks.items[stack].frame].module,
			tape->frames.items[tape->stacks.items[stack].frame].address,
			tape_string(tape,
				    tape->frames.items[tape->stacks.items[stack].frame].symbol));
	buffer_u8(key, 0);
}

/* A decoded tape's sums agree with its samples. */
static void check_sums(const struct tape *tape)
{
	struct strings keys = { 0 };
	array_of(uint64_t) counts = { 0 };
	uint64_t sum = 0;

	for (size_t i = 0; i < tape->samples.count + tape->sums.count; i++) {
		_cleanup_(buffer_done) struct buffer key = { 0 };
		bool counted = i < tape->samples.count;
		const struct tape_sample *sample = &tape->samples.items[i];
		const struct tape_sum *row = &tape->sums.items[i - tape->samples.count];
		uint32_t id;

		if (counted)
			put_sum_key(tape, tape->threads.items[sample->thread].comm, sample->stack,
				    sample->frame, &key);
		else
			put_sum_key(tape, row->comm, row->stack, row->frame, &key);
		CHECK_EQ(strings_add(&keys, (char *)key.data, key.size, &id), 0);
		while (counts.count <= id)
			array_push(&counts, 0);
		counts.items[id] += counted ? 1 : -row->count;
		sum += counted ? 0 : row->count;
	}
	CHECK_EQ(sum, tape->samples.count);
	for (size_t i = 0; i < counts.count; i++)
		CHECK_EQ(counts.items[i], 0);
	strings_done(&keys);
	array_done(&counts);
}

static void test_round_trips(void)
{
	for (unsigned int seed = 1; seed <= tier_pick(50, 200); seed++) {
		_cleanup_(cleanup_tape) struct tape *tape = random_tape(seed), *back = NULL;
		_cleanup_(buffer_done) struct buffer bytes = { 0 };
		struct error error = { 0 };

		encode(tape, seed % 2 ? SEGMENT_HASTY : SEGMENT_USUAL, &bytes);
		if (decode(bytes.data, bytes.size, &back, &error) < 0)
			CHECK_FAIL("seed %u: %s", seed, error.text);
		check_same(tape, back);
		check_sums(back);
	}
}

/* If a decoded tape is encoded again, the segment is the same. */
static void test_again(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = random_tape(7), *back = NULL, *again = NULL;
	_cleanup_(buffer_done) struct buffer bytes = { 0 }, second = { 0 };

	encode(tape, SEGMENT_USUAL, &bytes);
	CHECK_EQ(decode(bytes.data, bytes.size, &back, NULL), 0);
	encode(back, SEGMENT_USUAL, &second);
	CHECK_EQ(decode(second.data, second.size, &again, NULL), 0);
	check_same(tape, again);
}

/* 4 CPUs at 1 kHz for 60 s: blocks of 10 s. The wall clock is 1000 s ahead. */
/* Nothing that is stored depends on the key of the hashes. */
static void test_any_key(void)
{
	const uint64_t key[2] = { hash_secret[0], hash_secret[1] };
	_cleanup_(buffer_done) struct buffer first = { 0 };

	for (uint64_t i = 0; i < 4; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = NULL;
		_cleanup_(buffer_done) struct buffer bytes = { 0 };

		hash_secret[0] = hash_u64(2 * i + 1);
		hash_secret[1] = hash_u64(2 * i + 2);
		tape = random_tape(7);
		CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, SIZE_MAX, i ? &bytes : &first), 0);
		CHECK(!i || (bytes.size == first.size &&
			     memcmp(bytes.data, first.data, bytes.size) == 0));
	}
	hash_secret[0] = key[0];
	hash_secret[1] = key[1];
}

static struct tape *long_tape(void)
{
	struct tape *tape = tapes_new(0, 60);
	uint32_t stacks[5], thread = tapes_thread(tape, 1, 2, "x");

	for (unsigned int i = 0; i < ARRAY_SIZE(stacks); i++) {
		char text[32];

		snprintf(text, sizeof(text), "main;work_%u;leaf", i);
		stacks[i] = tapes_kernel(tape, text);
	}
	for (unsigned int i = 0; i < 240000; i++)
		tapes_sample(tape, tape->begin_ns + i / 4 * NSEC_PER_MSEC, i % 4, thread,
			     stacks[hash_u64(i) % 5]);
	return tape;
}

static size_t bytes_read;

static int count_reads(const struct segment_input *input, uint64_t offset, void *to, size_t size)
{
	struct segment_input plain = segment_input_memory(input->data, input->size);

	bytes_read += size;
	return plain.read(&plain, offset, to, size);
}

/*
 * Decodes [from, to) seconds. Returns the number of decoded samples, and checks that all samples of
 * the window are among them.
 */
static size_t window_samples(const struct buffer *bytes, double from, double to)
{
	struct segment_input input = segment_input_memory(bytes->data, bytes->size);
	struct segment_want want = { TAPES_REALTIME + (uint64_t)(from * 1e9),
				     TAPES_REALTIME + (uint64_t)(to * 1e9), SEGMENT_SAMPLES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	size_t within = 0, samples;

	input.read = count_reads;
	bytes_read = 0;
	CHECK_EQ(segment_decode(&input, &want, &tape, NULL), 0);
	for (size_t i = 0; i < tape->samples.count; i++) {
		uint64_t wall_ns = tape_to_realtime(tape, tape->samples.items[i].time_ns, NULL);

		CHECK(!i || tape->samples.items[i].time_ns >= tape->samples.items[i - 1].time_ns);
		within += wall_ns >= want.from_ns && wall_ns < want.to_ns;
	}
	samples = (size_t)((to - from) * 4000 + 0.5);
	if (to <= 60)
		CHECK_EQ(within, samples);
	return tape->samples.count;
}

static void test_windows(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = long_tape();
	_cleanup_(buffer_done) struct buffer bytes = { 0 };

	encode(tape, SEGMENT_HASTY, &bytes);
	CHECK_EQ(window_samples(&bytes, 25, 26), 40000);
	CHECK(bytes_read < bytes.size / 2);
	CHECK_EQ(window_samples(&bytes, 29, 31), 80000);
	CHECK_EQ(window_samples(&bytes, 20, 30), 40000);
	CHECK_EQ(window_samples(&bytes, 19.999, 30.001), 120000);
	CHECK_EQ(window_samples(&bytes, 60, 61), 0);
	CHECK_EQ(window_samples(&bytes, 0, 60), 240000);
}

/* The wall clock is set back by 30 s after 35 s, so it shows seconds 5 to 35 twice. */
static void test_window_of_a_clock_set_back(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = long_tape(), *back = NULL;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct segment_want want = { TAPES_REALTIME + 12 * NSEC_PER_SEC,
				     TAPES_REALTIME + 13 * NSEC_PER_SEC, SEGMENT_SAMPLES, 1 };

	tapes_anchor(tape, TAPES_PERF + 35 * NSEC_PER_SEC, TAPES_REALTIME + 5 * NSEC_PER_SEC);
	encode(tape, SEGMENT_HASTY, &bytes);
	CHECK_EQ(decode_part(bytes.data, bytes.size, &want, &back, NULL), 0);
	/*
	 * second 12 of the wall clock is seconds 12 and 42 of the tape; 30 to 40 contains both
	 * sides of the step
	 */
	CHECK_EQ(back->samples.count, 120000);
}

/* Decodes each part alone. */
static void test_parts(void)
{
	static const unsigned int parts[] = { SEGMENT_SAMPLES, SEGMENT_SUMS, SEGMENT_CONTEXT,
					      SEGMENT_LOSSES, 0 };
	_cleanup_(cleanup_tape) struct tape *tape = random_tape(11);
	_cleanup_(buffer_done) struct buffer bytes = { 0 };

	encode(tape, SEGMENT_HASTY, &bytes);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct segment_want want = { 0, UINT64_MAX, parts[i], 1 };
		_cleanup_(cleanup_tape) struct tape *back = NULL;

		CHECK_EQ(decode_part(bytes.data, bytes.size, &want, &back, NULL), 0);
		CHECK_EQ(back->facts.count, tape->facts.count);
		CHECK_EQ(back->anchors.count, tape->anchors.count);
		CHECK_EQ(back->samples.count, parts[i] & SEGMENT_SAMPLES ? tape->samples.count : 0);
		CHECK(!back->sums.count == !(parts[i] & SEGMENT_SUMS));
		CHECK_EQ(back->events.count, parts[i] & SEGMENT_CONTEXT ? tape->events.count : 0);
		CHECK_EQ(back->points.count, parts[i] & SEGMENT_CONTEXT ? tape->points.count : 0);
		CHECK_EQ(back->losses.count, parts[i] & SEGMENT_LOSSES ? tape->losses.count : 0);
	}
}

/* Each flipped bit and each length gives an error. */
static void test_damage_is_never_silent(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = small_tape();
	_cleanup_(buffer_done) struct buffer bytes = { 0 };

	encode(tape, SEGMENT_USUAL, &bytes);
	printf("# %zu bytes\n", bytes.size);
	for (size_t i = 0; i < 9 * bytes.size; i++) {
		_cleanup_(cleanup_tape) struct tape *back = NULL;
		size_t size = i < 8 * bytes.size ? bytes.size : i - 8 * bytes.size;
		struct error error = { 0 };
		int r;

		if (i < 8 * bytes.size)
			bytes.data[i / 8] ^= 1 << i % 8;
		r = decode(bytes.data, size, &back, &error);
		if (i < 8 * bytes.size)
			bytes.data[i / 8] ^= 1 << i % 8;
		if ((r != -EBADMSG && r != -EPROTONOSUPPORT) || !error.text[0])
			CHECK_FAIL("bit or size %zu: %d", i, r);
	}
}

static void test_newer_version_is_refused(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = small_tape(), *back = NULL;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct error error = { 0 };

	encode(tape, SEGMENT_HASTY, &bytes);
	bytes.data[8] = 9;
	CHECK_EQ(decode(bytes.data, bytes.size, &back, &error), -EPROTONOSUPPORT);
	CHECK(strstr(error.text, "version 9"));
}

/* A section that would look like a decompression bomb is stored without compression. */
static void test_very_regular(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 4000), *back = NULL;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };

	for (unsigned int i = 0; i < 400000; i++)
		CHECK_EQ(array_push(&tape->losses,
				    (struct tape_loss){ 1, 0, tape->begin_ns, tape->begin_ns, 1 }),
			 0);
	encode(tape, SEGMENT_USUAL, &bytes);
	CHECK_EQ(decode(bytes.data, bytes.size, &back, NULL), 0);
	CHECK_EQ(back->losses.count, 400000);
}

static void test_several_in_one_file(void)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	size_t starts[4] = { 0 };

	for (unsigned int i = 0; i < 3; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = random_tape(20 + i);

		starts[i] = bytes.size;
		encode(tape, SEGMENT_HASTY, &bytes);
	}
	for (unsigned int i = 0; i < 3; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = random_tape(20 + i), *back = NULL;
		struct segment_input input = segment_input_memory(bytes.data, bytes.size);
		struct segment_summary summary;

		input.offset = starts[i];
		input.size -= starts[i];
		CHECK_EQ(segment_decode(&input, &everything, &back, NULL), 0);
		check_same(tape, back);
		CHECK_EQ(segment_peek(bytes.data + starts[i],
				      MIN(input.size, (uint64_t)SEGMENT_HEAD), input.size, &summary,
				      NULL),
			 0);
		CHECK_EQ(starts[i] + summary.bytes, i < 2 ? starts[i + 1] : bytes.size);
	}
}

static void test_peek(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = random_tape(3);
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct segment_summary summary, told;
	struct error error = { 0 };

	encode(tape, SEGMENT_HASTY, &bytes);
	segment_summarize(tape, &told);
	memset(bytes.data + CONTENTS_HEADER, 0xaa, bytes.size - CONTENTS_HEADER);
	CHECK_EQ(segment_peek(bytes.data, CONTENTS_HEADER, bytes.size, &summary, &error), 0);
	CHECK_EQ(summary.bytes, bytes.size);
	CHECK_EQ(summary.sequence, told.sequence);
	CHECK_EQ(summary.begin_ns, told.begin_ns);
	CHECK_EQ(summary.end_ns, told.end_ns);
	CHECK_EQ(summary.perf_begin_ns, tape->begin_ns);
	CHECK_EQ(summary.perf_end_ns, tape->end_ns);
	CHECK_EQ(summary.samples, tape->samples.count);
	CHECK_EQ(summary.lost, told.lost);
	CHECK_EQ(summary.incidents, tape->incidents.count);
	CHECK_STR(summary.boot_id, tape_fact(tape, "boot_id"));
	CHECK_EQ(segment_peek(bytes.data, bytes.size, bytes.size - 1, &summary, &error), 1);
	CHECK(strstr(error.text, "truncated"));
	CHECK_EQ(segment_peek(bytes.data, CONTENTS_HEADER - 1, bytes.size, &summary, &error),
		 -EBADMSG);
	bytes.data[70] ^= 1;
	CHECK_EQ(segment_peek(bytes.data, bytes.size, bytes.size, &summary, &error), -EBADMSG);
}

/*
 * The count includes samples that were lost for any reason, but not samples that exist, and not
 * losses that count other events.
 */
static void test_lost(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10);
	struct segment_summary summary;

	for (uint32_t kind = 0; kind < 12; kind++)
		CHECK_EQ(array_push(&tape->losses, (struct tape_loss){ kind, 0, 0, 0, 1u << kind }),
			 0);
	segment_summarize(tape, &summary);
	CHECK_EQ(summary.lost,
		 1u << TAPE_LOSS_SAMPLES | 1u << TAPE_LOSS_DAMAGED | 1u << TAPE_LOSS_UNSAVED);
}

static void test_too_large(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = random_tape(5);
	_cleanup_(buffer_done) struct buffer whole = { 0 }, bytes = { 0 };

	encode(tape, SEGMENT_HASTY, &whole);
	/* no single section is larger than the limit, but all together are */
	CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, whole.size - 1, &bytes), -EFBIG);
	CHECK_EQ(bytes.size, 0);
	/* a single section is larger than the limit */
	CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, 10, &bytes), -EFBIG);
	CHECK_EQ(bytes.size, 0);
	CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, whole.size, &bytes), 0);
}

/* Times are rounded down to microseconds, and the tape's span still contains them. */
static void test_whole_microseconds(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10), *back = NULL;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	uint32_t thread = tapes_thread(tape, 1, 1, "x"), stack = tapes_kernel(tape, "a;b");

	tape->begin_ns += 1234567;
	tape->end_ns = tape->begin_ns + 1;
	tapes_sample(tape, tape->begin_ns, 0, thread, stack);
	encode(tape, SEGMENT_USUAL, &bytes);
	CHECK_EQ(decode(bytes.data, bytes.size, &back, NULL), 0);
	CHECK_EQ(back->begin_ns, TAPES_PERF + 1234000);
	CHECK_EQ(back->end_ns, TAPES_PERF + 1235000);
	CHECK_EQ(back->samples.items[0].time_ns, TAPES_PERF + 1234000);
	tape_span_samples(tape);
	CHECK_EQ(tape->begin_ns, back->begin_ns);
	CHECK_EQ(tape->end_ns, back->end_ns);
	tape->samples.items[0].time_ns = back->end_ns;
	tape_span_samples(tape);
	CHECK_EQ(tape->end_ns, back->end_ns + 1000);
}

/* If a sample lies outside of the tape's time, the segment can still be read. */
static void test_sealed_samples_are_within(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_tape) struct tape *back = NULL;
	struct store_segments segments = { 0 };
	struct tape *tape = tapes_new(0, 10);
	uint64_t begin_ns = tape->begin_ns - 5000, end_ns = tape->end_ns + 5000;
	uint32_t thread = tapes_thread(tape, 1, 1, "x");

	tapes_store_init(&store);
	tapes_sample(tape, end_ns, 0, thread, 0);
	tapes_sample(tape, begin_ns, 0, thread, 0);
	tapes_store_put(&store, tape);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &segments, NULL), 0);
	CHECK_EQ(segments.list.count, 1);
	CHECK_EQ(store_reader_load(reader, &segments.list.items[0], &everything, &back, NULL), 0);
	array_done(&segments.list);
	CHECK_EQ(back->samples.count, 2);
	CHECK_EQ(back->begin_ns, begin_ns);
	CHECK_EQ(back->end_ns, end_ns + 1000);
}

CHECK_MAIN({ "tapes survive encoding", test_round_trips },
	   { "a decoded tape encodes to the same segment", test_again },
	   { "the key of the hashes does not matter", test_any_key },
	   { "a window reads only its blocks", test_windows },
	   { "a window of a clock that was set back", test_window_of_a_clock_set_back },
	   { "each part is decoded alone", test_parts },
	   { "damage is always reported", test_damage_is_never_silent },
	   { "a newer version is refused by name", test_newer_version_is_refused },
	   { "a section that packs too well is not packed", test_very_regular },
	   { "several segments in one file", test_several_in_one_file },
	   { "the summary is read without the rest", test_peek },
	   { "the count of lost samples", test_lost },
	   { "a segment that would be too large is refused", test_too_large },
	   { "times are whole microseconds", test_whole_microseconds },
	   { "samples of a sealed segment are within its time", test_sealed_samples_are_within })
