// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "import/perf-data.h"
#include "pack/zstd.h"
#include "unpacker/unpack-helper.h"
#define HELPERS_UNPACK
#include "tests/helpers.h"

/* The test makes perf.data files byte by byte, in the layout that perf-data.c describes. */
enum {
	ATTR_SIZE = 128,
	ENTRY_SIZE = ATTR_SIZE + 16,
	HEADER_SIZE = 104,
	/* the fields ip, pid and tid, time, id */
	SAMPLE_SIZE = 8 + 8 + 8 + 8 + 8,
	SAMPLE_TYPE = 0x1 | 0x2 | 0x4 | 0x40,
	AT_DATA_SIZE = 48,
	FEATURE_HOSTNAME = 3,
	FEATURE_EVENT_DESC = 12,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_BUILD_ID = 2,
	FEATURE_CLOCK_DATA = 29,
};

static uint64_t random_state = 7;

static uint32_t pick(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % below;
}

static void put_header(struct buffer *to, uint32_t type, uint16_t size)
{
	buffer_u32(to, type);
	buffer_u16(to, 0);
	buffer_u16(to, size);
}

static void put_sample(struct buffer *to, uint64_t time_ns, uint64_t id)
{
	put_header(to, PERF_TYPE_SAMPLE, SAMPLE_SIZE);
	buffer_u64(to, 0x1000);
	buffer_u32(to, 7);
	buffer_u32(to, 8);
	buffer_u64(to, time_ns);
	buffer_u64(to, id);
}

static void put_attr(struct buffer *to, uint32_t type, uint64_t config)
{
	size_t end = to->size + ATTR_SIZE;

	buffer_u32(to, type);
	buffer_u32(to, ATTR_SIZE);
	buffer_u64(to, config);
	buffer_u64(to, 97);
	buffer_u64(to, SAMPLE_TYPE);
	buffer_u64(to, 0);
	buffer_u64(to, 1 << 10 | 1 << 18);
	while (to->size < end)
		buffer_u8(to, 0);
}

struct feature {
	unsigned int bit;
	struct buffer bytes;
};

/*
 * Makes a file with two events, whose ids are 11 and 12, with these records, and with these
 * features in the order of their bits.
 */
static void make_file(struct buffer *file, const struct buffer *records,
		      const struct feature *features, size_t feature_count)
{
	uint64_t ids_at = HEADER_SIZE, attrs_at = ids_at + 16, data_at = attrs_at + 2 * ENTRY_SIZE;
	uint64_t bits = 0, at = data_at + records->size + 16 * feature_count;

	for (size_t i = 0; i < feature_count; i++)
		bits |= 1ull << features[i].bit;
	buffer_text(file, "PERFILE2");
	buffer_u64(file, HEADER_SIZE);
	buffer_u64(file, ENTRY_SIZE);
	buffer_u64(file, attrs_at);
	buffer_u64(file, 2 * ENTRY_SIZE);
	buffer_u64(file, data_at);
	buffer_u64(file, records->size);
	buffer_u64(file, 0);
	buffer_u64(file, 0);
	buffer_u64(file, bits);
	for (int i = 0; i < 3; i++)
		buffer_u64(file, 0);
	buffer_u64(file, 11);
	buffer_u64(file, 12);
	for (int i = 0; i < 2; i++) {
		put_attr(file, 1, i ? 9 : 0);
		buffer_u64(file, ids_at + 8 * i);
		buffer_u64(file, 8);
	}
	buffer_bytes(file, records->data, records->size);
	for (size_t i = 0; i < feature_count; i++) {
		buffer_u64(file, at);
		buffer_u64(file, features[i].bytes.size);
		at += features[i].bytes.size;
	}
	for (size_t i = 0; i < feature_count; i++)
		buffer_bytes(file, features[i].bytes.data, features[i].bytes.size);
	CHECK(!buffer_failed(file));
}

struct seen {
	size_t records;
	size_t samples;
	uint64_t offset;
	uint64_t bytes;
};

static int see(void *context, const uint8_t *record, size_t size, uint64_t offset)
{
	struct seen *seen = context;
	uint32_t type;

	memcpy(&type, record, sizeof(type));
	seen->records++;
	seen->samples += type == PERF_TYPE_SAMPLE;
	seen->bytes += size;
	CHECK(offset >= seen->offset);
	seen->offset = offset;
	return 0;
}

/* Set by a test that reads thousands of files, each of which would start a process. */
static bool unpack_here;

/*
 * Opens and reads a whole file. Returns what perf_data_read() returned, or the error of the open.
 */
static int read_file(const void *bytes, size_t size, struct perf_data *ret_file,
		     struct seen *ret_seen)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *stream = NULL;
	_cleanup_close_ int fd = memfd_create("perf.data", MFD_CLOEXEC);
	struct error error = { 0 };
	int r;

	CHECK(fd >= 0 && file_write_all(fd, bytes, size) == 0);
	*ret_seen = (struct seen){ 0 };
	r = perf_data_open(fd, ret_file, &error);
	if (r == 0) {
		ret_file->unpack_here = unpack_here;
		r = perf_data_read(ret_file, &stream, see, ret_seen, &error);
		if (r < 0)
			perf_data_done(ret_file);
	}
	/* the text of an error is one line */
	CHECK((r != 0) == (error.text[0] != 0) && !strchr(error.text, '\n'));
	return r;
}

static void test_whole(void)
{
	_cleanup_(buffer_done) struct buffer records = { 0 }, bytes = { 0 };
	_cleanup_(perf_data_done) struct perf_data file = { 0 };
	struct perf_record_place place;
	struct seen seen;

	for (int i = 0; i < 10; i++)
		put_sample(&records, 100 + i, 11 + i % 2);
	make_file(&bytes, &records, NULL, 0);
	CHECK_EQ(read_file(bytes.data, bytes.size, &file, &seen), 0);
	CHECK_EQ(seen.samples, 10);
	CHECK_EQ(file.events.count, 2);
	CHECK_STR(file.events.items[0].name, "cpu-clock");
	CHECK_STR(file.events.items[1].name, "dummy");
	CHECK(perf_data_event(&file, 11) == &file.events.items[0]);
	CHECK(perf_data_event(&file, 12) == &file.events.items[1]);
	CHECK(!perf_data_event(&file, 13));
	place = perf_data_place(&file, records.data, SAMPLE_SIZE);
	CHECK_EQ(place.time_ns, 100);
	CHECK_EQ(place.id, 11);
	CHECK(!file.unfinished && !file.pipe);
}

/* Sets the fields of the samples of an event, 0 or 1. */
static void set_sample_type(struct buffer *file, int event, uint64_t sample_type)
{
	size_t at = HEADER_SIZE + 16 + event * ENTRY_SIZE + 24;

	CHECK(at + sizeof(sample_type) <= file->size);
	memcpy(file->data + at, &sample_type, sizeof(sample_type));
}

/*
 * Each event has fields of its own, as of `perf record -e A -e B` with different settings. The time
 * of a sample stands where the layout of its own event has it.
 */
static void test_two_layouts(void)
{
	_cleanup_(buffer_done) struct buffer records = { 0 }, bytes = { 0 };
	_cleanup_(perf_data_done) struct perf_data file = { 0 };
	struct perf_record_place place;
	struct seen seen;

	/* identifier, pid and tid, time */
	put_header(&records, PERF_TYPE_SAMPLE, 32);
	buffer_u64(&records, 11);
	buffer_u64(&records, 7);
	buffer_u64(&records, 100);
	/* identifier, ip, pid and tid, time */
	put_header(&records, PERF_TYPE_SAMPLE, 40);
	buffer_u64(&records, 12);
	buffer_u64(&records, 0x1000);
	buffer_u64(&records, 7);
	buffer_u64(&records, 200);
	make_file(&bytes, &records, NULL, 0);
	set_sample_type(&bytes, 0, 1 << 16 | 0x2 | 0x4);
	set_sample_type(&bytes, 1, 1 << 16 | 0x1 | 0x2 | 0x4);
	CHECK_EQ(read_file(bytes.data, bytes.size, &file, &seen), 0);
	CHECK_EQ(seen.samples, 2);
	place = perf_data_place(&file, records.data, 32);
	CHECK_EQ(place.id, 11);
	CHECK_EQ(place.time_ns, 100);
	place = perf_data_place(&file, records.data + 32, 40);
	CHECK_EQ(place.id, 12);
	CHECK_EQ(place.time_ns, 200);
}

/*
 * From a truncated file, everything that was whole before the end is read. The same holds for a
 * file that perf did not finish.
 */
static void test_cut(void)
{
	_cleanup_(buffer_done) struct buffer records = { 0 }, bytes = { 0 };
	size_t data_at = HEADER_SIZE + 16 + 2 * ENTRY_SIZE;

	for (int i = 0; i < 12; i++)
		put_sample(&records, 100 + i, 11);
	make_file(&bytes, &records, NULL, 0);
	for (int unfinished = 0; unfinished < 2; unfinished++) {
		if (unfinished)
			memset(bytes.data + AT_DATA_SIZE, 0, 8);
		for (size_t size = 0; size <= bytes.size; size++) {
			_cleanup_(perf_data_done) struct perf_data file = { 0 };
			struct seen seen;
			int r = read_file(bytes.data, size, &file, &seen);

			if (size < data_at) {
				CHECK_EQ(r, -EBADMSG);
				continue;
			}
			CHECK_EQ(r, (size - data_at) % SAMPLE_SIZE != 0);
			CHECK_EQ(seen.samples, (size - data_at) / SAMPLE_SIZE);
			CHECK_EQ(file.unfinished, unfinished || size < bytes.size);
		}
	}
}

/* Offsets, sizes and counts of the header have arbitrary values. */
static void test_header_lies(void)
{
	static const uint64_t lies[] = {
		0, 1, 7, 63, 64, 1000, 1u << 20, 1ull << 32, 1ull << 63, UINT64_MAX - 7, UINT64_MAX
	};
	_cleanup_(buffer_done) struct buffer records = { 0 }, bytes = { 0 };

	put_sample(&records, 100, 11);
	make_file(&bytes, &records, NULL, 0);
	/* the header, and the offsets of the ids of both events */
	for (size_t at = 8; at < HEADER_SIZE + 16 + 2 * ENTRY_SIZE; at += 8)
		for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
			struct perf_data file = { 0 };
			struct seen seen;
			uint8_t was[8];
			int r;

			memcpy(was, bytes.data + at, 8);
			memcpy(bytes.data + at, &lies[i], 8);
			r = read_file(bytes.data, bytes.size, &file, &seen);
			CHECK(r == 0 || r == 1 || r == -EBADMSG);
			CHECK(seen.samples <= 1);
			if (r >= 0)
				perf_data_done(&file);
			memcpy(bytes.data + at, was, 8);
		}
}

/* A feature with false values costs only that feature. */
static void test_feature_lies(void)
{
	static const unsigned int bits[] = { FEATURE_BUILD_ID, FEATURE_HOSTNAME, FEATURE_EVENT_DESC,
					     FEATURE_SAMPLE_TIME, FEATURE_CLOCK_DATA };

	for (int round = 0; round < 3000; round++) {
		_cleanup_(buffer_done) struct buffer records = { 0 }, bytes = { 0 };
		_cleanup_(perf_data_done) struct perf_data file = { 0 };
		struct feature features[ARRAY_SIZE(bits)] = { 0 };
		struct seen seen;

		for (int i = 0; i < 3; i++)
			put_sample(&records, 100 + i, 11);
		for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
			features[i].bit = bits[i];
			for (uint32_t left = pick(20); left > 0; left--)
				buffer_u32(&features[i].bytes,
					   (uint32_t[]){ 0, 1, 11, 36, 0x7fffffff, 0xffffffff,
							 (uint32_t)random_state,
							 0x61616161 }[pick(8)]);
		}
		make_file(&bytes, &records, features, ARRAY_SIZE(features));
		/* and the table with the offsets of the features */
		if (round % 3 == 0) {
			uint64_t lie = (uint64_t)-1 >> pick(64);

			memcpy(bytes.data + HEADER_SIZE + 16 + 2 * ENTRY_SIZE + records.size +
				       8 * pick(2 * ARRAY_SIZE(bits)),
			       &lie, 8);
		}
		CHECK_EQ(read_file(bytes.data, bytes.size, &file, &seen), 0);
		CHECK_EQ(seen.samples, 3);
		for (size_t i = 0; i < file.build_ids.count; i++)
			CHECK(file.build_ids.items[i].size <= TAPE_BUILD_ID_MAX);
		for (size_t i = 0; i < ARRAY_SIZE(features); i++)
			buffer_done(&features[i].bytes);
	}
}

/* Puts compressed records as perf does, split at any byte. */
static void put_compressed(struct buffer *to, const struct buffer *packed, size_t piece)
{
	for (size_t at = 0; at < packed->size; at += piece) {
		size_t size = MIN(piece, packed->size - at);

		put_header(to, PERF_DATA_COMPRESSED, 8 + size);
		buffer_bytes(to, packed->data + at, size);
	}
}

static void test_compressed(void)
{
	_cleanup_(buffer_done) struct buffer inner = { 0 }, packed = { 0 };

	for (int i = 0; i < 1000; i++)
		put_sample(&inner, 100 + i * i, 11);
	CHECK_EQ(zstd_append(&packed, inner.data, inner.size, 3), 0);
	for (size_t piece = 4; piece < packed.size; piece += 1 + piece / 2) {
		_cleanup_(buffer_done) struct buffer records = { 0 }, bytes = { 0 };
		_cleanup_(perf_data_done) struct perf_data file = { 0 };
		struct seen seen;

		put_compressed(&records, &packed, piece);
		make_file(&bytes, &records, NULL, 0);
		CHECK_EQ(read_file(bytes.data, bytes.size, &file, &seen), 0);
		CHECK_EQ(seen.samples, 1000);
		/* the compressed data without its beginning */
		perf_data_done(&file);
		file = (struct perf_data){ 0 };
		memset(bytes.data + HEADER_SIZE + 16 + 2 * ENTRY_SIZE + 8, 0, 1);
		CHECK_EQ(read_file(bytes.data, bytes.size, &file, &seen), PERF_DATA_CONTINUES);
		CHECK_EQ(seen.samples, 0);
	}
}

/* perf compresses only records of the kernel, so another record inside means damage. */
static void test_odd_inside(void)
{
	static const struct {
		uint32_t type;
		uint16_t size;
		size_t samples;
	} odd[] = { { 0, 16, 1 }, { PERF_DATA_ATTR, 16, 1 }, { 9, 20, 1 }, { 3, 16, 2 } };

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		_cleanup_(buffer_done) struct buffer inner = { 0 }, packed = { 0 }, records = { 0 },
						     bytes = { 0 };
		_cleanup_(perf_data_done) struct perf_data file = { 0 };
		struct seen seen;

		put_sample(&inner, 100, 11);
		put_header(&inner, odd[i].type, odd[i].size);
		for (uint16_t at = 8; at < odd[i].size; at++)
			buffer_u8(&inner, 0);
		put_sample(&inner, 200, 11);
		CHECK_EQ(zstd_append(&packed, inner.data, inner.size, 3), 0);
		put_compressed(&records, &packed, packed.size);
		make_file(&bytes, &records, NULL, 0);
		CHECK_EQ(read_file(bytes.data, bytes.size, &file, &seen), odd[i].samples == 1);
		CHECK_EQ(seen.samples, odd[i].samples);
	}
}

/* A few kilobytes that would unpack to a gigabyte are refused long before that size is reached. */
static void test_bomb(void)
{
	_cleanup_(buffer_done) struct buffer inner = { 0 }, packed = { 0 }, records = { 0 },
					     bytes = { 0 };
	_cleanup_(perf_data_done) struct perf_data file = { 0 };
	struct seen seen;

	while (inner.size < 64u << 20)
		put_sample(&inner, 100, 11);
	CHECK(!buffer_failed(&inner));
	for (int i = 0; i < 16; i++)
		CHECK_EQ(zstd_append(&packed, inner.data, inner.size, 19), 0);
	CHECK(packed.size < 1 << 18);
	put_compressed(&records, &packed, 60000);
	make_file(&bytes, &records, NULL, 0);
	CHECK_EQ(read_file(bytes.data, bytes.size, &file, &seen), 1);
	CHECK(seen.bytes <= (64u << 20) + 2000 * bytes.size + 2000);
}

/* With any byte changed, reading ends with an answer, and no read goes beyond the end. */
static void test_changed(void)
{
	_cleanup_(buffer_done) struct buffer inner = { 0 }, packed = { 0 }, records = { 0 },
					     bytes = { 0 };
	struct feature features[] = { { .bit = FEATURE_HOSTNAME }, { .bit = FEATURE_SAMPLE_TIME } };

	for (int i = 0; i < 20; i++)
		put_sample(&inner, 100 + i, 11);
	CHECK_EQ(zstd_append(&packed, inner.data, inner.size, 3), 0);
	put_sample(&records, 99, 11);
	put_compressed(&records, &packed, 30);
	put_sample(&records, 200, 12);
	buffer_u32(&features[0].bytes, 8);
	buffer_bytes(&features[0].bytes, "machine", 8);
	buffer_u64(&features[1].bytes, 99);
	buffer_u64(&features[1].bytes, 200);
	make_file(&bytes, &records, features, 2);
	unpack_here = true;
	for (size_t at = 0; at < bytes.size; at++)
		for (int change = 0; change < 4; change++) {
			struct perf_data file = { 0 };
			struct seen seen;
			uint8_t was = bytes.data[at];

			bytes.data[at] = change == 0   ? ~was
					 : change == 1 ? 0
					 : change == 2 ? 0xff
						       : pick(256);
			if (read_file(bytes.data, bytes.size, &file, &seen) >= 0)
				perf_data_done(&file);
			bytes.data[at] = was;
		}
	for (size_t i = 0; i < 2; i++)
		buffer_done(&features[i].bytes);
}

CHECK_MAIN({ "a whole file is read", test_whole },
	   { "each event has a layout of its own", test_two_layouts },
	   { "a file truncated at any byte", test_cut }, { "a header that lies", test_header_lies },
	   { "features that lie", test_feature_lies },
	   { "compressed records are read", test_compressed },
	   { "other records inside are damage", test_odd_inside },
	   { "compressed records that expand absurdly are refused", test_bomb },
	   { "a file with any byte changed", test_changed })
