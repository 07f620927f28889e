// SPDX-License-Identifier: GPL-2.0-only
/* What a decoder must not let through, whatever a file says (tape.h), and what is not written at all. */
#include "tests/check.h"

#include <errno.h>

#include "tape/segment.h"
#include "tests/tapes.h"

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL };

static int decode(const void *data, size_t size, struct tape **ret_tape, struct error *error)
{
	struct segment_input input = segment_input_memory(data, size);

	return segment_decode(&input, &everything, ret_tape, error);
}

static struct tape *sound(void)
{
	struct tape *tape = tapes_new(0, 10);
	uint32_t thread = tapes_thread(tape, 1, 2, "x"), stack = tapes_kernel(tape, "a;b");

	for (unsigned int i = 0; i < 10; i++)
		tapes_sample(tape, tape->begin_ns + i * NSEC_PER_SEC, i, thread, stack);
	return tape;
}

static int decoded(const struct tape *tape)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	_cleanup_(cleanup_tape) struct tape *back = NULL;
	struct error error = { 0 };
	int r;

	CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, 1 << 30, &bytes), 0);
	r = decode(bytes.data, bytes.size, &back, &error);
	printf("# %s\n", error.text);
	return r;
}

static void spoil(struct tape *tape, int how)
{
	switch (how) {
	case 0:
		tape->modules.items[0].kind = TAPE_MODULE_ELF;
		break;
	case 1:
		tape->modules.items[0].path = 1;
		break;
	case 2:
		tape->modules.items[0].inode = 1;
		break;
	case 3:
		tape->modules.items[0].build_id_size = 1;
		break;
	case 4:
		tape->frames.items[0].symbol = 1;
		break;
	case 5:
		tape->frames.items[0].module = 1;
		break;
	case 6:
		tape->frames.items[0].address = 1;
		break;
	case 7:
		tape->samples.items[0].time_ns = tape->begin_ns - 1;
		break;
	case 8:
		tape->samples.items[9].time_ns = tape->end_ns;
		break;
	case 9:
		tape->samples.items[5].time_ns = tape->begin_ns;
		break;
	case 10:
		tape->end_ns = tape->begin_ns - 1;
		break;
	case 11:
		tape->samples.items[3].stack = tape->stacks.count;
		break;
	case 12:
		tape->samples.items[3].thread = tape->threads.count;
		break;
	case 13:
		tape->threads.items[0].comm = strings_count(&tape->strings);
		break;
	case 14:
		tape->stacks.items[1].frame = tape->frames.count;
		break;
	}
}

static void test_invariants(void)
{
	_cleanup_(cleanup_tape) struct tape *whole = sound();

	CHECK_EQ(decoded(whole), 0);
	for (int how = 0; how < 15; how++) {
		_cleanup_(cleanup_tape) struct tape *tape = sound();

		spoil(tape, how);
		printf("# %d\n", how);
		CHECK_EQ(decoded(tape), -EBADMSG);
	}
}

static void test_too_large(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = sound();
	_cleanup_(buffer_done) struct buffer whole = { 0 }, bytes = { 0 };

	CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, 1 << 30, &whole), 0);
	/* no section is larger than that, all together are */
	CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, whole.size / 2, &bytes), -EFBIG);
	/* a section is */
	CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, 10, &bytes), -EFBIG);
	CHECK_EQ(bytes.size, 0);
}

/* A recorder that gives a sample beside the tape's time must not cost the segment. */
static void test_sealed_samples_are_within(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_tape) struct tape *back = NULL;
	struct store_segments segments = { 0 };
	struct tape *tape = sound();
	uint64_t begin_ns = tape->begin_ns - 5, end_ns = tape->end_ns + 5;

	tapes_store_init(&store);
	tapes_sample(tape, end_ns, 0, 0, 0);
	tapes_sample(tape, begin_ns, 0, 0, 0);
	tapes_store_put(&store, tape);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &segments, NULL), 0);
	CHECK_EQ(segments.list.count, 1);
	CHECK_EQ(store_reader_load(reader, &segments.list.items[0], &everything, &back, NULL), 0);
	array_done(&segments.list);
	CHECK_EQ(back->samples.count, 12);
	CHECK_EQ(back->begin_ns, begin_ns);
	CHECK_EQ(back->end_ns, end_ns + 1);
}

CHECK_MAIN({ "the invariants of a decoded tape", test_invariants },
	{ "a segment that would be too large", test_too_large },
	{ "samples of a sealed segment lie within it", test_sealed_samples_are_within })
