// SPDX-License-Identifier: GPL-2.0-only
/* Tapes are filled step by step, spooled, and read again: whole, truncated, changed. */
#include "tape/spool/spool.h"

#include <errno.h>

#include "base/clock.h"
#include "base/sort.h"
#include "tape/clocks.h"
#include "tests/check.h"
#include "tests/random.h"
#include "tests/tape-equal.h"
#include "tests/tape-sound.h"
#include "tests/tapes.h"

#define BEGIN (1000 * NSEC_PER_SEC)

static uint32_t random_string(struct tape *tape)
{
	char text[16];

	snprintf(text, sizeof(text), "%.*u", (int)random_below(6), random_below(500));
	return tapes_string(tape, text);
}

static struct tape_fields random_fields(struct tape *tape)
{
	struct tape_fields run = { tape->fields.count, random_below(3) };

	for (uint32_t i = 0; i < run.count; i++)
		CHECK_EQ(array_push(&tape->fields,
				    (struct tape_fact){ random_string(tape), random_string(tape) }),
			 0);
	return run;
}

static void grow_dictionary(struct tape *tape)
{
	struct tape_module module = { random_string(tape), random_below(TAPE_MODULE_KINDS),
				      random_below(21),	   { 0 },
				      random_u64(),	   random_u64() };
	uint32_t id, frame;

	for (unsigned int i = 0; i < module.build_id_size; i++)
		module.build_id[i] = random_u64();
	CHECK_EQ(tape_add_module(tape, &module, &id), 0);
	while (tape->pids.count < random_below(tape->modules.count + 1))
		CHECK_EQ(array_push(&tape->pids, (int32_t)random_u64()), 0);
	if (tape->pids.count)
		tape->pids.items[random_below(tape->pids.count)] = random_below(1000);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(tape_add_frame(tape, random_below(tape->modules.count), random_u64(),
					&frame),
			 0);
		CHECK_EQ(tape_add_stack(tape, random_below(tape->stacks.count), frame, &id), 0);
	}
	CHECK_EQ(tape_add_thread(tape,
				 &(struct tape_thread){ random_u64(), random_u64(),
							random_string(tape), random_string(tape) },
				 &id),
		 0);
}

/* Samples in the order in which the rings of several CPUs give them: each ring in order. */
static void grow_samples(struct tape *tape, uint64_t from_ns)
{
	for (uint32_t cpu = 0, cpus = random_below(5); cpu < cpus; cpu++) {
		uint64_t time_ns = from_ns;

		for (uint32_t i = random_below(8); i; i--) {
			time_ns += (uint64_t)random_below(100000) * TAPE_TIME_UNIT_NS;
			CHECK_EQ(array_push(&tape->samples,
					    (struct tape_sample){
						    time_ns,
						    random_below(3) ? TAPES_PERIOD : random_u64(),
						    cpu, random_below(tape->threads.count),
						    random_below(tape->stacks.count),
						    random_below(tape->frames.count) }),
				 0);
		}
	}
}

static void grow_context(struct tape *tape, uint64_t time_ns)
{
	CHECK_EQ(array_push(&tape->losses,
			    (struct tape_loss){ random_below(12),
						random_below(2) ? TAPE_ALL_CPUS : 1, random_u64(),
						random_u64(), random_u64() }),
		 0);
	CHECK_EQ(array_push(&tape->anchors,
			    (struct tape_anchor){ time_ns, random_u64(), random_u64(), random_u64(),
						  random_u64() }),
		 0);
	/* in the order of two CPUs' rings */
	for (int i = 0; i < 2; i++)
		CHECK_EQ(array_push(&tape->events,
				    (struct tape_event){
					    time_ns + random_below(NSEC_PER_SEC), random_below(9),
					    random_below(tape->threads.count), random_string(tape),
					    random_fields(tape) }),
			 0);
	CHECK_EQ(array_push(&tape->lines,
			    (struct tape_line){ random_u64(), random_u64(), random_below(8),
						random_string(tape) }),
		 0);
	CHECK_EQ(array_push(&tape->incidents,
			    (struct tape_incident){ random_u64(), random_u64(), random_below(9),
						    random_below(9), random_string(tape),
						    random_string(tape), random_fields(tape) }),
		 0);
}

/* If a gauge gets another point, it moves to the end with all its points. */
static void grow_gauges(struct tape *tape, uint64_t time_ns)
{
	if (random_below(2))
		CHECK_EQ(
			array_push(&tape->gauges, (struct tape_gauge){ random_string(tape), 0, 0 }),
			0);
	for (size_t i = 0; i < tape->gauges.count; i++) {
		struct tape_gauge *gauge = &tape->gauges.items[i];
		uint32_t first = tape->points.count;

		for (uint32_t at = 0; at < gauge->count; at++) {
			struct tape_point point = tape->points.items[gauge->first + at];

			CHECK_EQ(array_push(&tape->points, point), 0);
		}
		gauge->first = first;
		for (uint32_t more = random_below(3); more; more--, gauge->count++)
			CHECK_EQ(array_push(&tape->points,
					    (struct tape_point){ time_ns + 5 - more,
								 (int64_t)random_u64() >>
									 random_below(64) }),
				 0);
	}
}

static void grow(struct tape *tape, uint64_t time_ns)
{
	if (random_below(8) == 0)
		return;
	for (uint32_t i = random_below(4); i || !tape->threads.count; i -= i > 0)
		grow_dictionary(tape);
	grow_samples(tape, time_ns);
	if (random_below(2))
		grow_context(tape, time_ns);
	grow_gauges(tape, time_ns);
}

static struct tape *bare_tape(uint64_t sequence)
{
	struct tape *tape = tapes_bare(BEGIN, BEGIN);

	tape->sequence = sequence;
	return tape;
}

static void append_block(const struct tape *tape, struct spool_mark *mark, uint64_t until_ns,
			 struct spool_block *block, struct buffer *bytes)
{
	CHECK_EQ(spool_encode(tape, mark, until_ns, block), 0);
	CHECK_EQ(spool_pack(block, NULL, bytes), 0);
}

/* The tapes that a spool with this many blocks must give: one for each number of blocks. */
struct story {
	struct buffer bytes;
	size_t blocks;
	size_t ends[16];
	uint64_t until_ns[16];
	uint32_t samples[16];
	struct tape *tape;
};

static void story_done(struct story *story)
{
	buffer_done(&story->bytes);
	tape_free(story->tape);
}

static void sort_events(struct tape *tape)
{
	_cleanup_free_ void *scratch = calloc(tape->events.count + 1, sizeof(*tape->events.items));

	CHECK(scratch);
	sort_array(&tape->events, scratch, time_ns);
}

static struct story story_of(size_t blocks)
{
	_cleanup_(spool_mark_done) struct spool_mark mark = { 0 };
	_cleanup_(spool_block_done) struct spool_block block = { 0 };
	struct story story = { .blocks = blocks, .tape = bare_tape(random_u64()) };

	for (size_t i = 0; i < blocks; i++) {
		grow(story.tape, BEGIN + i * NSEC_PER_SEC);
		story.until_ns[i] = BEGIN + (i + 1) * NSEC_PER_SEC;
		append_block(story.tape, &mark, story.until_ns[i], &block, &story.bytes);
		story.ends[i] = story.bytes.size;
		story.samples[i] = block.samples;
	}
	story.tape->end_ns = story.until_ns[blocks - 1];
	CHECK_EQ(tape_sort_samples(story.tape), 0);
	sort_events(story.tape);
	return story;
}

static struct tape *decoded(const void *data, size_t size, struct spool_end *ret_end)
{
	struct tape *tape = NULL;
	struct error error = { 0 };

	if (spool_decode(data, size, &tape, ret_end, &error) < 0)
		CHECK_FAIL("%s", error.text);
	CHECK(tape->unsealed && tape_is_sound(tape));
	return tape;
}

static void test_same(void)
{
	for (int round = 0; round < 300; round++) {
		_cleanup_(story_done) struct story story = story_of(1 + random_below(16));
		_cleanup_(cleanup_tape) struct tape *back = NULL;
		struct spool_end end;

		back = decoded(story.bytes.data, story.bytes.size, &end);
		CHECK_EQ(end.good_bytes, story.bytes.size);
		CHECK(!end.torn && !end.damaged);
		CHECK(tape_is_equal(story.tape, back));
	}
}

/* A truncated spool gives all whole blocks. It counts as torn if it ends within a block. */
static void test_each_cut(void)
{
	_cleanup_(story_done) struct story story = story_of(5);
	size_t whole = 0;

	for (size_t size = 0; size <= story.bytes.size; size++) {
		_cleanup_free_ void *copy = malloc(size + 1);
		struct tape *tape = NULL;
		struct spool_end end;

		memcpy(copy, story.bytes.data, size);
		while (whole < story.blocks && story.ends[whole] <= size)
			whole++;
		if (!whole) {
			CHECK_EQ(spool_decode(copy, size, &tape, &end, NULL), -EBADMSG);
			continue;
		}
		tape = decoded(copy, size, &end);
		CHECK(tape_is_beginning_of(tape, story.tape));
		CHECK_EQ(end.good_bytes, story.ends[whole - 1]);
		CHECK_EQ(end.torn, size > story.ends[whole - 1]);
		CHECK(!end.damaged);
		CHECK(tape->end_ns >= story.until_ns[whole - 1]);
		tape_free(tape);
	}
}

/*
 * The power failed after the file got its size, but before all sectors of the last block were
 * written.
 */
static void test_zeros_at_the_end(void)
{
	_cleanup_(story_done) struct story story = story_of(5);
	size_t last = story.ends[3], size = story.bytes.size + 2000;

	for (size_t at = last; at < story.bytes.size; at = (at / 512 + 1) * 512) {
		_cleanup_free_ uint8_t *copy = calloc(size, 1);
		_cleanup_(cleanup_tape) struct tape *tape = NULL;
		struct spool_end end;

		memcpy(copy, story.bytes.data, at);
		tape = decoded(copy, size, &end);
		CHECK_EQ(end.good_bytes, last);
		CHECK(end.torn && !end.damaged);
		CHECK(tape_is_beginning_of(tape, story.tape));
	}
}

/*
 * Blocks before the damage are read. For the others, the reader reports the number of samples, as
 * far as headers remain.
 */
static void check_damaged(const struct story *story, const void *data, size_t size, size_t damaged,
			  size_t first_known)
{
	struct spool_end end;
	_cleanup_(cleanup_tape) struct tape *tape = decoded(data, size, &end);
	const struct tape_loss *loss = &tape->losses.items[tape->losses.count - 1];
	uint64_t samples = 0;

	for (size_t i = first_known; i < story->blocks; i++)
		samples += story->samples[i];
	CHECK(end.damaged && !end.torn);
	CHECK_EQ(end.good_bytes, story->ends[damaged - 1]);
	CHECK_EQ(loss->kind, TAPE_LOSS_DAMAGED);
	CHECK_EQ(loss->from_ns, story->until_ns[damaged - 1]);
	CHECK_EQ(loss->count, MAX(samples, 1u));
	if (first_known < story->blocks)
		CHECK_EQ(loss->to_ns, story->until_ns[story->blocks - 1]);
	CHECK(tape->end_ns >= loss->to_ns);
	tape->losses.count--;
	CHECK(tape_is_beginning_of(tape, story->tape));
}

static void test_each_byte(void)
{
	_cleanup_(story_done) struct story story = story_of(5);
	size_t block = 0;

	for (size_t at = 0; at < story.bytes.size; at++) {
		uint8_t was = story.bytes.data[at];
		bool in_header;

		block += at == story.ends[block];
		in_header = at - (block ? story.ends[block - 1] : 0) < 100;
		story.bytes.data[at] ^= 1 << random_below(8);
		if (!block) {
			struct tape *tape = NULL;
			struct spool_end end;

			CHECK_EQ(
				spool_decode(story.bytes.data, story.bytes.size, &tape, &end, NULL),
				-EBADMSG);
		} else {
			check_damaged(&story, story.bytes.data, story.bytes.size, block,
				      block + in_header);
		}
		story.bytes.data[at] = was;
	}
}

/* A range of bytes is removed or written twice: a sample that did not exist must never appear. */
static void test_cut_out_and_doubled(void)
{
	_cleanup_(story_done) struct story story = story_of(6);

	for (int round = 0; round < 3000; round++) {
		size_t a = random_below(story.bytes.size), b = random_below(story.bytes.size + 1);
		size_t from = MIN(a, b), to = MAX(a, b), back = round % 2 ? from : to;
		size_t size = (round % 2 ? to : from) + story.bytes.size - back;
		_cleanup_free_ uint8_t *copy = malloc(size + 1);
		struct tape *tape = NULL;
		struct spool_end end;

		memcpy(copy, story.bytes.data, size - (story.bytes.size - back));
		memcpy(copy + size - (story.bytes.size - back), story.bytes.data + back,
		       story.bytes.size - back);
		if (spool_decode(copy, size, &tape, &end, NULL) < 0)
			continue;
		tape->losses.count -= end.damaged;
		CHECK(tape_is_beginning_of(tape, story.tape));
		CHECK_EQ(end.good_bytes < size, end.torn || end.damaged);
		tape_free(tape);
	}
}

/* A block in the middle is missing, so the blocks after it do not fit. */
static void test_missing_block(void)
{
	_cleanup_(story_done) struct story story = story_of(6);
	size_t size = story.bytes.size - (story.ends[2] - story.ends[1]);

	memmove(story.bytes.data + story.ends[1], story.bytes.data + story.ends[2],
		story.bytes.size - story.ends[2]);
	check_damaged(&story, story.bytes.data, size, 2, 3);
}

/* Zeros before another block are damage, because no interrupted write leaves them. */
static void test_zeros_between(void)
{
	_cleanup_(story_done) struct story story = story_of(6);

	memset(story.bytes.data + story.ends[1], 0, story.ends[2] - story.ends[1]);
	check_damaged(&story, story.bytes.data, story.bytes.size, 2, 3);
}

/* By mistake, the file also contains blocks of another recording. */
static void test_foreign_blocks(void)
{
	_cleanup_(story_done) struct story story = story_of(3), other = story_of(3);
	struct spool_summary summary;

	buffer_bytes(&story.bytes, other.bytes.data, other.bytes.size);
	check_damaged(&story, story.bytes.data, story.bytes.size, 3, 3);
	CHECK_EQ(spool_peek(story.bytes.data, story.bytes.size, &summary, NULL), 0);
	CHECK_EQ(summary.until_ns, story.until_ns[2]);
	CHECK_EQ(summary.samples, story.samples[0] + (uint64_t)story.samples[1] + story.samples[2]);
}

/* Corrects the checksum of a header that a test changes on purpose. */
static void mend_checksum(uint8_t *header)
{
	uint32_t crc = crc32c(0, header, 96);

	for (int i = 0; i < 4; i++)
		header[96 + i] = crc >> (8 * i);
}

/* The next block fits, but belongs to another recording. */
static void test_foreign_block_with_the_number_that_is_due(void)
{
	static const size_t members[] = { 16, 24, 56 }; /* sequence, begin, boot id */

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		_cleanup_(story_done) struct story story = story_of(4);
		uint8_t *header = story.bytes.data + story.ends[2];

		header[members[i]] ^= 2;
		mend_checksum(header);
		check_damaged(&story, story.bytes.data, story.bytes.size, 3, 4);
		check_damaged(&story, story.bytes.data, story.bytes.size - 1, 3, 4);
	}
}

/* If the spool contains a block twice, its reader does not report a loss. */
static void test_written_twice(void)
{
	_cleanup_(story_done) struct story story = story_of(4);
	_cleanup_(buffer_done) struct buffer bytes = { 0 };

	buffer_bytes(&bytes, story.bytes.data, story.bytes.size);
	buffer_bytes(&bytes, story.bytes.data, story.bytes.size);
	CHECK(!buffer_failed(&bytes));
	check_damaged(&story, bytes.data, bytes.size, 4, 4);
}

static void test_peek(void)
{
	_cleanup_(story_done) struct story story = story_of(4);
	uint64_t samples[5] = { 0 };
	struct spool_summary summary;

	for (int i = 0; i < 4; i++)
		samples[i + 1] = samples[i] + story.samples[i];
	CHECK_EQ(spool_peek(story.bytes.data, story.bytes.size, &summary, NULL), 0);
	CHECK_EQ(summary.sequence, story.tape->sequence);
	CHECK_EQ(summary.begin_ns, BEGIN);
	CHECK_EQ(summary.until_ns, story.until_ns[3]);
	CHECK_EQ(summary.samples, samples[4]);
	CHECK_STR(summary.boot_id, tape_fact(story.tape, "boot_id"));
	/* torn */
	CHECK_EQ(spool_peek(story.bytes.data, story.bytes.size - 1, &summary, NULL), 0);
	CHECK_EQ(summary.until_ns, story.until_ns[2]);
	CHECK_EQ(summary.samples, samples[3]);
	/* the first header is damaged */
	story.bytes.data[50] ^= 1;
	CHECK_EQ(spool_peek(story.bytes.data, story.bytes.size, &summary, NULL), 0);
	CHECK_EQ(summary.samples, samples[4] - samples[1]);
	CHECK_EQ(spool_peek(story.bytes.data, story.ends[0], &summary, NULL), -EBADMSG);
	CHECK_EQ(spool_peek(NULL, 0, &summary, NULL), -EBADMSG);
}

static void test_newer(void)
{
	_cleanup_(story_done) struct story story = story_of(2);
	struct spool_summary summary;
	struct tape *tape = NULL;
	struct error error = { 0 };
	struct spool_end end;

	story.bytes.data[8]++;
	CHECK_EQ(spool_decode(story.bytes.data, story.bytes.size, &tape, &end, NULL), -EBADMSG);
	mend_checksum(story.bytes.data);
	CHECK_EQ(spool_decode(story.bytes.data, story.bytes.size, &tape, &end, &error),
		 -EPROTONOSUPPORT);
	CHECK(strstr(error.text, "version 2"));
	CHECK_EQ(spool_peek(story.bytes.data, story.bytes.size, &summary, NULL), -EPROTONOSUPPORT);
}

/* If a sample lies outside of the tape's time, the tape can still be read. */
/* The same for a sample in a later block of the tape. */
static void test_samples_beside(void)
{
	_cleanup_(spool_mark_done) struct spool_mark mark = { 0 };
	_cleanup_(spool_block_done) struct spool_block block = { 0 };
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	_cleanup_(cleanup_tape) struct tape *tape = bare_tape(1), *back = NULL;
	uint32_t thread = tapes_thread(tape, 1, 1, "x");
	struct spool_end end;

	tapes_sample(tape, BEGIN + 20000, 0, thread, 0);
	append_block(tape, &mark, BEGIN + 10500, &block, &bytes);
	tapes_sample(tape, BEGIN - 3000, 0, thread, 0);
	append_block(tape, &mark, BEGIN + 20500, &block, &bytes);
	tapes_sample(tape, BEGIN + 30000, 0, thread, 0);
	append_block(tape, &mark, BEGIN + 30500, &block, &bytes);
	back = decoded(bytes.data, bytes.size, &end);
	CHECK_EQ(back->samples.count, 3);
	CHECK_EQ(back->samples.items[0].time_ns, BEGIN - 3000);
	CHECK_EQ(back->begin_ns, BEGIN - 3000);
	CHECK_EQ(back->end_ns, BEGIN + 31000);
}

CHECK_MAIN({ "a spool gives the tape step by step", test_same },
	   { "a spool truncated at each length", test_each_cut },
	   { "a spool with each byte changed", test_each_byte },
	   { "zeros at the end are torn", test_zeros_at_the_end },
	   { "zeros in between are damage", test_zeros_between },
	   { "ranges removed and doubled", test_cut_out_and_doubled },
	   { "a missing block is damage", test_missing_block },
	   { "blocks of another recording are refused", test_foreign_blocks },
	   { "another recording's next block is refused",
	     test_foreign_block_with_the_number_that_is_due },
	   { "a block that is there twice loses nothing", test_written_twice },
	   { "headers are read alone", test_peek }, { "a newer version is refused", test_newer },
	   { "samples outside of the tape's time", test_samples_beside })
