// SPDX-License-Identifier: GPL-2.0-only
/* Newer generations of segments, which are written beside a writer. */
#include "tests/check.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "store/write/reseal.h"
#include "store/write/store-writer.h"
#include "tests/tapes.h"

#define SEGMENTS 2

static const struct segment_want all = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

struct place {
	struct tapes_store store;
	struct store_writer *writer;
	struct store_reader *reader;
	struct store_segments segments;
};

static struct tape *make_tape(uint64_t number)
{
	struct tape *tape = tapes_new(10 * number, 10 * number + 10);
	uint32_t module = tapes_module(tape, "/bin/tool", TAPE_MODULE_ELF), frame;

	tape->sequence = number;
	CHECK_EQ(tape_add_frame(tape, module, 0x1234, &frame), 0);
	tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 1, 1, "tool"), 0);
	tape->samples.items[0].frame = frame;
	return tape;
}

static struct place make_place(void)
{
	struct place place = { 0 };
	struct error error = { 0 };

	tapes_store_init(&place.store);
	CHECK_EQ(store_writer_open(place.store.path, &place.writer, &error), 0);
	for (uint64_t i = 0; i < SEGMENTS; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = make_tape(i);

		CHECK_EQ(store_writer_seal(place.writer, tape, SEGMENT_HASTY, NULL, &error), 0);
	}
	CHECK_EQ(store_reader_open(place.store.path, &place.reader, &error), 0);
	CHECK_EQ(store_reader_find(place.reader, 0, UINT64_MAX, &place.segments, &error), 0);
	CHECK_EQ(place.segments.list.count, SEGMENTS);
	return place;
}

static void place_done(struct place *place)
{
	array_done(&place->segments.list);
	store_reader_close(place->reader);
	store_writer_close(place->writer);
	tapes_store_done(&place->store);
}

static void find_nothing(void *context, const char *file, const char *what)
{
	CHECK_FAIL("%s: %s", file, what);
}

static struct tape *load(struct place *place, size_t i)
{
	struct tape *tape = NULL;
	struct error error = { 0 };

	CHECK_EQ(store_reader_load(place->reader, &place->segments.list.items[i], &all, &tape,
				   &error),
		 0);
	return tape;
}

/* Returns the frame that still lacks a name, or NULL. */
static struct tape_frame *unnamed(struct tape *tape)
{
	for (size_t i = 1; i < tape->frames.count; i++)
		if (tape->frames.items[i].address == 0x1234)
			return &tape->frames.items[i];
	return NULL;
}

static void test_replaced(void)
{
	struct place place = make_place();
	struct store_resealer *resealer = NULL, *other = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = load(&place, 1), *again = NULL;
	struct store_verified verified = { 0 };
	struct error error = { 0 };

	CHECK_EQ(store_resealer_open(place.store.path, &resealer, &error), 0);
	CHECK_EQ(store_resealer_open(place.store.path, &other, &error), -EBUSY);
	CHECK(unnamed(tape) && !unnamed(tape)->symbol);
	CHECK_EQ(strings_add(&tape->strings, "tool_main", 9, &unnamed(tape)->symbol), 0);
	unnamed(tape)->offset = 4;
	CHECK_EQ(store_resealer_put(resealer, &place.segments.list.items[1], tape, &error), 0);
	again = load(&place, 1);
	CHECK_EQ(again->samples.count, tape->samples.count);
	CHECK_STR(tape_string(again, unnamed(again)->symbol), "tool_main");
	CHECK_EQ(unnamed(again)->offset, 4);
	CHECK_EQ(store_reader_verify(place.reader, find_nothing, NULL, NULL, &verified, &error), 0);
	CHECK_EQ(verified.damaged, 0);
	CHECK_EQ(verified.stale, 0);
	CHECK_EQ(verified.segments, SEGMENTS);
	store_resealer_close(resealer);
	CHECK_EQ(store_resealer_open(place.store.path, &other, &error), 0);
	store_resealer_close(other);
	place_done(&place);
}

/* Retention removed the segment while names were looked for. */
static void test_removed(void)
{
	const struct store_limits limits = {
		.max_age_ns = UINT64_MAX, .max_bytes = 1, .keep_free_bytes = 0, .pin_ns = 0
	};
	struct place place = make_place();
	struct store_resealer *resealer = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = load(&place, 0);
	struct store_retained retained = { 0 };
	struct error error = { 0 };
	char path[256];

	CHECK_EQ(store_resealer_open(place.store.path, &resealer, &error), 0);
	CHECK_EQ(store_writer_retain(place.writer, &limits, false, NULL, NULL, &retained, &error),
		 0);
	CHECK_EQ(retained.removed, 1);
	CHECK_EQ(store_resealer_put(resealer, &place.segments.list.items[0], tape, &error),
		 -ENOENT);
	for (int hidden = 0; hidden < 2; hidden++) {
		snprintf(path, sizeof(path), "%s/segments/%s%s%s", place.store.path,
			 hidden ? "." : "", place.segments.list.items[0].name,
			 hidden ? ".names" : "");
		CHECK(access(path, F_OK) < 0);
	}
	store_resealer_close(resealer);
	place_done(&place);
}

/*
 * A recorder that starts removes the leftovers of a killed process, but not a file that another
 * process is writing.
 */
static void test_left(void)
{
	struct place place = make_place();
	struct store_resealer *resealer = NULL;
	struct error error = { 0 };
	char folder[256], name[96], path[400];

	snprintf(folder, sizeof(folder), "%s/segments", place.store.path);
	snprintf(name, sizeof(name), ".%s.names", place.segments.list.items[0].name);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK_EQ(file_replace(folder, name, "half of it", 10), 0);
	for (int writing = 1; writing >= 0; writing--) {
		if (writing)
			CHECK_EQ(store_resealer_open(place.store.path, &resealer, &error), 0);
		place.writer = store_writer_close(place.writer);
		CHECK_EQ(store_writer_open(place.store.path, &place.writer, &error), 0);
		CHECK_EQ(access(path, F_OK) == 0, writing);
		resealer = store_resealer_close(resealer);
	}
	place_done(&place);
}

static void test_no_store(void)
{
	struct store_resealer *resealer = NULL;
	struct error error = { 0 };

	CHECK_EQ(store_resealer_open("/tmp/perftape-is-not-there", &resealer, &error), -ENOENT);
}

CHECK_MAIN({ "a segment is replaced", test_replaced },
	   { "a removed segment stays removed", test_removed },
	   { "leftovers of a killed process are removed", test_left },
	   { "a folder without a store is refused", test_no_store })
