// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "pack/unpack.h"

#define LIMIT (64ull << 20)

enum packer {
	GZIP,
	XZ,
	ZSTD,
};
#define PACKERS 3
static const char *const names[] = { "gzip", "xz", "zstd" };

/* Makes text that packs, but not to nothing: numbers and words. */
static void make_text(struct buffer *text, size_t size)
{
	uint64_t state = 42;

	while (text->size < size) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		buffer_printf(text, "sample %u in function_%u\n", (unsigned int)(state >> 40),
			      (unsigned int)(state >> 33) % 50);
	}
	text->size = size;
	CHECK(!buffer_failed(text));
}

static void pack_gzip(const void *data, size_t size, struct buffer *packed)
{
	z_stream stream = { .next_in = (void *)(uintptr_t)data, .avail_in = size };
	uint8_t *room = buffer_room(packed, size + 4096);

	CHECK(room);
	CHECK_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_out = room;
	stream.avail_out = size + 4096;
	CHECK_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
	packed->size += size + 4096 - stream.avail_out;
	deflateEnd(&stream);
}

static void pack_xz(const void *data, size_t size, struct buffer *packed)
{
	uint8_t *room = buffer_room(packed, lzma_stream_buffer_bound(size));
	size_t used = 0;

	CHECK(room);
	CHECK_EQ(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, NULL, data, size, room, &used,
					 lzma_stream_buffer_bound(size)),
		 LZMA_OK);
	packed->size += used;
}

static void pack_zstd(const void *data, size_t size, struct buffer *packed)
{
	uint8_t *room = buffer_room(packed, ZSTD_compressBound(size));
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t used;

	CHECK(room && context);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	used = ZSTD_compress2(context, room, ZSTD_compressBound(size), data, size);
	ZSTD_freeCCtx(context);
	CHECK(!ZSTD_isError(used));
	packed->size += used;
}

static void pack(enum packer packer, const void *data, size_t size, struct buffer *packed)
{
	if (packer == GZIP)
		pack_gzip(data, size, packed);
	else if (packer == XZ)
		pack_xz(data, size, packed);
	else
		pack_zstd(data, size, packed);
}

struct unpacked {
	struct buffer text;
	size_t limit;
};

static int keep(void *context, const uint8_t *data, size_t size)
{
	struct unpacked *unpacked = context;

	if (size > unpacked->limit - unpacked->text.size)
		return -EFBIG;
	buffer_bytes(&unpacked->text, data, size);
	return 0;
}

static int feed_all(struct unpack_decoder *decoder, const uint8_t *data, size_t size,
		    struct unpacked *unpacked)
{
	int r = 0;

	for (size_t done = 0; r == 0 && done < size; done += 65536)
		r = unpack_decoder_feed(decoder, data + done, MIN(size - done, 65536u), keep,
					unpacked);
	return r < 0 ? r : unpack_decoder_finish(decoder, keep, unpacked);
}

/*
 * Unpacks bytes. Returns 1 with the text up to the damage, 0 if the bytes are not packed, or the
 * error.
 */
static int unpacked(const void *data, size_t size, uint64_t limit, bool *ret_damaged,
		    struct buffer *text)
{
	_cleanup_(cleanup_unpack_decoder) struct unpack_decoder *decoder = NULL;
	struct unpacked unpacked = { .limit = limit };
	uint8_t head[UNPACK_HEAD] = { 0 };
	int r;

	memcpy(head, data, MIN(size, sizeof(head)));
	if (!unpack_is_packed(head)) {
		CHECK_EQ(unpack_decoder_new(head, &decoder), -EBADMSG);
		return 0;
	}
	CHECK_EQ(unpack_decoder_new(head, &decoder), 0);
	r = feed_all(decoder, data, size, &unpacked);
	CHECK(!buffer_failed(&unpacked.text));
	*text = unpacked.text;
	*ret_damaged = r == -EBADMSG;
	return r == 0 || r == -EBADMSG ? 1 : r;
}

static void check_whole(const struct buffer *packed, const struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer got = { 0 };
	bool damaged = true;

	CHECK_EQ(unpacked(packed->data, packed->size, LIMIT, &damaged, &got), 1);
	CHECK(!damaged);
	CHECK_EQ(got.size, text->size);
	CHECK(memcmp(got.data, text->data, got.size) == 0);
}

static void test_round_trips(void)
{
	static const size_t sizes[] = { 1, 100, 65536, 131072, 131073, 1 << 20 };

	for (int packer = 0; packer < PACKERS; packer++)
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			_cleanup_(buffer_done) struct buffer text = { 0 }, packed = { 0 };

			printf("# %s of %zu\n", names[packer], sizes[i]);
			make_text(&text, sizes[i]);
			pack(packer, text.data, text.size, &packed);
			check_whole(&packed, &text);
		}
}

/* Several members, as `cat a.gz b.gz` makes them. */
static void test_one_behind_the_other(void)
{
	for (int packer = 0; packer < PACKERS; packer++) {
		_cleanup_(buffer_done) struct buffer text = { 0 }, packed = { 0 };

		printf("# %s\n", names[packer]);
		make_text(&text, 300000);
		pack(packer, text.data, 100000, &packed);
		pack(packer, text.data + 100000, 0, &packed);
		pack(packer, text.data + 100000, 65536, &packed);
		pack(packer, text.data + 165536, 134464, &packed);
		check_whole(&packed, &text);
	}
}

/*
 * Unpacks the beginning of a truncated file, and checks that it is reported as damaged. *ret_size
 * becomes the size of the text.
 */
static void check_damaged(const void *data, size_t size, const struct buffer *text,
			  size_t *ret_size)
{
	_cleanup_(buffer_done) struct buffer got = { 0 };
	bool damaged = false;

	CHECK_EQ(unpacked(data, size, LIMIT, &damaged, &got), 1);
	CHECK(damaged);
	*ret_size = got.size;
	CHECK(got.size <= text->size && (!got.size || memcmp(got.data, text->data, got.size) == 0));
}

static void test_cut_short(void)
{
	for (int packer = 0; packer < PACKERS; packer++) {
		_cleanup_(buffer_done) struct buffer text = { 0 }, packed = { 0 };
		size_t size = 0, last = 0, first_size;

		printf("# %s\n", names[packer]);
		make_text(&text, 400000);
		pack(packer, text.data, 200000, &packed);
		first_size = packed.size;
		pack(packer, text.data + 200000, 200000, &packed);
		for (size_t cut = 6; cut < packed.size; cut += cut < 200 ? 1 : 1500) {
			if (cut == first_size)
				continue; /* a whole file */
			check_damaged(packed.data, cut, &text, &size);
			CHECK(size >= last);
			last = size;
		}
		/* if only the end of the file is truncated, most of the text is unpacked */
		check_damaged(packed.data, packed.size - 1, &text, &size);
		CHECK(size > 300000);
	}
}

/*
 * The text that a call decoded before it found the damage is not lost. Each format has a checksum
 * at its end.
 */
static void test_before_the_damage(void)
{
	for (int packer = 0; packer < PACKERS; packer++) {
		_cleanup_(buffer_done) struct buffer text = { 0 }, packed = { 0 };
		size_t size = 0;

		printf("# %s\n", names[packer]);
		make_text(&text, 100000);
		pack(packer, text.data, text.size, &packed);
		CHECK(packed.size < 65536); /* one call reads the whole file */
		packed.data[packed.size - (packer == XZ ? 28 : packer == GZIP ? 8 : 4)] ^= 0xff;
		check_damaged(packed.data, packed.size, &text, &size);
		CHECK_EQ(size, text.size);
		printf("# %zu of %zu\n", size, text.size);
	}
}

/* Several blocks of zstd in one call, the last one damaged. */
static void test_blocks_before_the_damage(void)
{
	_cleanup_(buffer_done) struct buffer text = { 0 }, packed = { 0 };
	size_t size = 0;

	CHECK(buffer_room(&text, 1 << 20));
	memset(text.data, 'x', 1 << 20);
	text.size = 1 << 20;
	pack(ZSTD, text.data, text.size, &packed);
	CHECK(packed.size < 1000);
	packed.data[packed.size - 1] ^= 0xff;
	check_damaged(packed.data, packed.size, &text, &size);
	CHECK_EQ(size, text.size);
}

/* Either the result is the text, or it is reported as damaged. It never exceeds the limit. */
static void test_flipped_bytes(void)
{
	for (int packer = 0; packer < PACKERS; packer++) {
		_cleanup_(buffer_done) struct buffer text = { 0 }, packed = { 0 };

		make_text(&text, 3000);
		pack(packer, text.data, text.size, &packed);
		for (size_t i = 0; i < packed.size; i++) {
			_cleanup_(buffer_done) struct buffer got = { 0 };
			bool damaged = false;
			int r;

			packed.data[i] ^= 0x20;
			r = unpacked(packed.data, packed.size, 1 << 20, &damaged, &got);
			packed.data[i] ^= 0x20;
			if (r < 0)
				CHECK(r == -EFBIG || r == -ENOBUFS);
			if (r < 0 || r == 0 || damaged)
				continue;
			/* gzip's header has fields that do not affect the text, such as its time */
			CHECK_EQ(got.size, text.size);
			CHECK(memcmp(got.data, text.data, got.size) == 0);
		}
	}
}

static void test_garbage_behind(void)
{
	for (int packer = 0; packer < PACKERS; packer++) {
		_cleanup_(buffer_done) struct buffer text = { 0 }, packed = { 0 };
		size_t size = 0;

		make_text(&text, 3000);
		pack(packer, text.data, text.size, &packed);
		buffer_text(&packed, "garbage");
		check_damaged(packed.data, packed.size, &text, &size);
		CHECK_EQ(size, text.size);
	}
}

static void test_bombs(void)
{
	_cleanup_free_ uint8_t *zeros = calloc(1, 32 << 20);

	CHECK(zeros);
	for (int packer = 0; packer < PACKERS; packer++) {
		_cleanup_(buffer_done) struct buffer packed = { 0 }, part = { 0 }, got = { 0 };
		bool damaged = false;

		pack(packer, zeros, 32 << 20, &packed);
		CHECK(packed.size < 200000);
		CHECK_EQ(unpacked(packed.data, packed.size, 31 << 20, &damaged, &part), -EFBIG);
		CHECK_EQ(unpacked(packed.data, packed.size, 32 << 20, &damaged, &got), 1);
		CHECK(!damaged);
	}
}

/* A frame that claims a window of 1 GB is not damaged. */
static void test_memory(void)
{
	static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0, 0x01, 0x00, 0x00 };
	_cleanup_(buffer_done) struct buffer got = { 0 };
	bool damaged = false;

	CHECK_EQ(unpacked(frame, sizeof(frame), LIMIT, &damaged, &got), -ENOBUFS);
}

static void test_not_packed(void)
{
	_cleanup_(buffer_done) struct buffer got = { 0 };
	bool damaged = false;

	CHECK_EQ(unpacked("not packed", 10, LIMIT, &damaged, &got), 0);
	CHECK_EQ(unpacked("", 0, LIMIT, &damaged, &got), 0);
}

CHECK_MAIN({ "packed text is unpacked", test_round_trips },
	   { "several members are one text", test_one_behind_the_other },
	   { "a truncated file gives its beginning", test_cut_short },
	   { "text before the damage is kept", test_before_the_damage },
	   { "blocks before the damage are kept", test_blocks_before_the_damage },
	   { "flipped bytes are found", test_flipped_bytes },
	   { "garbage behind the end is ignored", test_garbage_behind },
	   { "bombs are refused", test_bombs },
	   { "a frame that needs too much memory is refused", test_memory },
	   { "other bytes are not packed", test_not_packed })
