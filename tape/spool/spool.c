// SPDX-License-Identifier: GPL-2.0-only
#include "tape/spool/spool.h"

#include <stdio.h>

#include "pack/zstd.h"
#include "tape/spool/spool-rows.h"

/*
 * A block: a header, and one zstd frame with the rows (tape/spool/spool-rows.h). Later versions
 * keep the header as it is.
 *
 *   0   8  magic
 *   8   4  version
 *   12  4  number of the block, from 0
 *   16  8  sequence of the tape
 *   24  8  begin of the tape
 *   32  8  the time that the recording reached
 *   40  4  samples in this block
 *   44  4  raw size of the rows
 *   48  4  size of the frame
 *   52  4  CRC-32C of the frame
 *   56  40 boot id, NUL-terminated
 *   96  4  CRC-32C of all of the above
 */
#define MAGIC "PERFSPOL"
#define VERSION 1
#define HEADER_SIZE 100
#define CRC_AT 96
#define RAW_MAX (1u << 28)
/*
 * What all rows may unpack to, with STRING_BYTES for each string, and how many samples there may
 * be. Segments of the same rows have about the same bounds (tape/segment/contents.h), and are
 * smaller than their spools.
 */
#define RAW_FREE (16u << 20)
#define RAW_A_BYTE 32
#define STRING_BYTES 32
#define SAMPLES_FREE (1u << 20)
#define SAMPLES_A_BYTE 4
/* A disk writes a sector of this size completely or not at all. */
#define SECTOR 512

struct header {
	uint32_t version;
	uint32_t number;
	uint64_t sequence;
	uint64_t begin_ns;
	uint64_t until_ns;
	uint32_t samples;
	uint32_t raw;
	uint32_t stored;
	uint32_t crc;
	char boot_id[40];
};

void spool_block_done(struct spool_block *block)
{
	buffer_done(&block->raw);
	*block = (struct spool_block){ 0 };
}

void spool_mark_done(struct spool_mark *mark)
{
	array_done(&mark->points);
	*mark = (struct spool_mark){ 0 };
}

void spool_mark_counts(const struct tape *tape, struct spool_mark *mark)
{
	mark->strings = tape->strings.starts.count;
	mark->modules = tape->modules.count;
	mark->pids = tape->pids.count;
	mark->frames = tape->frames.count;
	mark->stacks = tape->stacks.count;
	mark->threads = tape->threads.count;
	mark->samples = tape->samples.count;
	mark->losses = tape->losses.count;
	mark->facts = tape->facts.count;
	mark->anchors = tape->anchors.count;
	mark->fields = tape->fields.count;
	mark->events = tape->events.count;
	mark->lines = tape->lines.count;
	mark->incidents = tape->incidents.count;
}

int spool_encode(const struct tape *tape, struct spool_mark *mark, uint64_t until_ns,
		 struct spool_block *ret_block)
{
	struct buffer *raw = &ret_block->raw;

	raw->size = 0;
	raw->failed = false;
	spool_rows_encode(tape, mark, raw);
	if (buffer_failed(raw) || array_reserve(&mark->points, tape->gauges.count) < 0)
		return -ENOMEM;
	if (raw->size > RAW_MAX)
		return -EFBIG;
	ret_block->number = mark->block++;
	ret_block->sequence = tape->sequence;
	ret_block->begin_ns = tape->begin_ns;
	ret_block->until_ns = MAX(until_ns, tape->begin_ns);
	ret_block->samples = tape->samples.count - mark->samples;
	snprintf(ret_block->boot_id, sizeof(ret_block->boot_id), "%s", tape_fact(tape, "boot_id"));
	spool_mark_counts(tape, mark);
	mark->pids_hash = pids_hash(tape, mark->pids);
	for (size_t i = 0; i < tape->gauges.count; i++)
		mark->points.items[i] = tape->gauges.items[i].count;
	mark->points.count = tape->gauges.count;
	return 0;
}

/* Puts the part of a header that is known before the block exists. */
static void put_expected(struct buffer *bytes, uint32_t number, uint64_t sequence,
			 uint64_t begin_ns)
{
	buffer_bytes(bytes, MAGIC, 8);
	buffer_u32(bytes, VERSION);
	buffer_u32(bytes, number);
	buffer_u64(bytes, sequence);
	buffer_u64(bytes, begin_ns);
}

static void spool_put_header(struct buffer *bytes, const struct spool_block *block,
			     const uint8_t *frame, size_t frame_size)
{
	size_t start = bytes->size;

	put_expected(bytes, block->number, block->sequence, block->begin_ns);
	buffer_u64(bytes, block->until_ns);
	buffer_u32(bytes, block->samples);
	buffer_u32(bytes, block->raw.size);
	buffer_u32(bytes, frame_size);
	buffer_u32(bytes, crc32c(0, frame, frame_size));
	buffer_bytes(bytes, block->boot_id, sizeof(block->boot_id));
	buffer_u32(bytes, crc32c(0, bytes->data + start, CRC_AT));
}

/*
 * Packs the frame first, because the header has its size and checksum. Then fills in the header, in
 * the space that the frame follows.
 */
static int spool_pack_block(const struct spool_block *block, struct zstd_packer *packer,
			    struct buffer *bytes)
{
	const struct buffer *raw = &block->raw;
	size_t start = bytes->size, end;
	int r;

	if (!buffer_room(bytes, HEADER_SIZE))
		return -ENOMEM;
	bytes->size += HEADER_SIZE;
	r = packer ? zstd_packer_append(packer, bytes, raw->data, raw->size)
		   : zstd_append(bytes, raw->data, raw->size, SPOOL_PACK_LEVEL);
	if (r < 0)
		return r;
	end = bytes->size;
	bytes->size = start;
	spool_put_header(bytes, block, bytes->data + start + HEADER_SIZE,
			 end - start - HEADER_SIZE);
	bytes->size = end;
	return 0;
}

int spool_pack(const struct spool_block *block, struct zstd_packer *packer, struct buffer *bytes)
{
	size_t start = bytes->size;
	int r = spool_pack_block(block, packer, bytes);

	if (r < 0) {
		bytes->size = start;
		/* the bytes before are still valid */
		bytes->failed = false;
	}
	return r;
}

/* Returns whether there is a sound header. Its block may reach beyond the end. */
static bool spool_read_header(const void *data, size_t size, size_t at, struct header *ret_header)
{
	struct header header;
	struct reader reader;
	const void *magic;
	const char *boot_id;

	if (at > size || size - at < HEADER_SIZE)
		return false;
	reader_init(&reader, (const uint8_t *)data + at, HEADER_SIZE);
	magic = reader_take(&reader, 8);
	header.version = reader_u32(&reader);
	header.number = reader_u32(&reader);
	header.sequence = reader_u64(&reader);
	header.begin_ns = reader_u64(&reader);
	header.until_ns = reader_u64(&reader);
	header.samples = reader_u32(&reader);
	header.raw = reader_u32(&reader);
	header.stored = reader_u32(&reader);
	header.crc = reader_u32(&reader);
	boot_id = reader_text(&reader, sizeof(header.boot_id));
	if (memcmp(magic, MAGIC, 8) != 0 || !boot_id || strchr(boot_id, '/') ||
	    reader_u32(&reader) != crc32c(0, reader.data, CRC_AT) ||
	    header.until_ns < header.begin_ns ||
	    header.until_ns / TAPE_TIME_UNIT_NS >= SPOOL_TIME_UNITS)
		return false;
	snprintf(header.boot_id, sizeof(header.boot_id), "%s", boot_id);
	*ret_header = header;
	return true;
}

static bool spool_is_whole(const struct header *header, size_t size, size_t at)
{
	return header->stored <= size - at - HEADER_SIZE;
}

/* Finds the first sound header at or after *at. Returns false at the end. */
static bool find_header(const void *data, size_t size, size_t *at, struct header *ret_header)
{
	const uint8_t *bytes = data, *found;

	while (*at < size && (found = memmem(bytes + *at, size - *at, MAGIC, 8))) {
		*at = found - bytes;
		if (spool_read_header(data, size, *at, ret_header))
			return true;
		++*at;
	}
	return false;
}

/*
 * Finds the sound header after this one. The next header is at the end of the block, or elsewhere
 * if bytes are missing.
 */
static bool next_header(const void *data, size_t size, size_t *at, struct header *header)
{
	size_t behind = *at + HEADER_SIZE, end = behind + header->stored;

	if (end == size)
		return false;
	if (spool_read_header(data, size, end, header)) {
		*at = end;
		return true;
	}
	*at = behind;
	return find_header(data, size, at, header);
}

/* Returns whether both headers belong to the same recording, and so to the same file. */
static bool spool_belongs(const struct header *header, const struct header *first)
{
	return header->version == first->version && header->sequence == first->sequence &&
	       header->begin_ns == first->begin_ns && strcmp(header->boot_id, first->boot_id) == 0;
}

static int refuse_version(uint32_t version, struct error *error)
{
	return error_set(error, -EPROTONOSUPPORT,
			 "spool format version %u is newer than this perftape (%u)", version,
			 VERSION);
}

int spool_peek(const void *data, size_t size, struct spool_summary *ret_summary,
	       struct error *error)
{
	struct spool_summary summary = { 0 };
	struct header first, header;
	bool more, known = false;
	size_t at = 0;

	for (more = find_header(data, size, &at, &header); more;
	     more = next_header(data, size, &at, &header)) {
		if (!spool_is_whole(&header, size, at) ||
		    (known && !spool_belongs(&header, &first)))
			continue;
		if (!known)
			first = header;
		known = true;
		summary.until_ns = MAX(summary.until_ns, header.until_ns);
		summary.samples += header.samples;
	}
	if (!known)
		return error_set(error, -EBADMSG, "not a perftape spool, or it has no whole block");
	if (first.version != VERSION)
		return refuse_version(first.version, error);
	summary.sequence = first.sequence;
	summary.begin_ns = first.begin_ns;
	snprintf(summary.boot_id, sizeof(summary.boot_id), "%s", first.boot_id);
	*ret_summary = summary;
	return 0;
}

struct unpacking {
	struct zstd_stream *stream;
	struct buffer raw;
	size_t limit;
};

static int unpack_bit(void *context, const uint8_t *data, size_t size)
{
	struct unpacking *unpacking = context;

	if (size > unpacking->limit - unpacking->raw.size)
		return -EBADMSG;
	buffer_bytes(&unpacking->raw, data, size);
	return buffer_failed(&unpacking->raw) ? -ENOMEM : 0;
}

/* Expands the frame piece by piece, because a header may claim any size. */
static int spool_unpack(struct unpacking *unpacking, const struct header *header,
			const uint8_t *frame)
{
	int r;

	if (header->raw > RAW_MAX || crc32c(0, frame, header->stored) != header->crc)
		return -EBADMSG;
	unpacking->raw.size = 0;
	unpacking->limit = header->raw;
	r = zstd_stream_feed(unpacking->stream, frame, header->stored, unpack_bit, unpacking);
	if (r < 0)
		return r == -ENOBUFS ? -EBADMSG : r;
	return zstd_stream_finish(unpacking->stream) < 0 || unpacking->raw.size != header->raw
		       ? -EBADMSG
		       : 0;
}

static int decode_block(const struct header *header, const uint8_t *frame,
			struct unpacking *unpacking, struct spool_rows *rows)
{
	int r = spool_unpack(unpacking, header, frame);

	return r < 0 ? r
		     : spool_rows_decode(rows, unpacking->raw.data, unpacking->raw.size,
					 header->samples);
}

/* The end of the sound blocks, and the number of the next one. */
struct progress {
	size_t at;
	uint32_t number;
};

/* Returns whether a spool of this size may have the rows so far and those of a block. */
static bool spool_fits(size_t size, uint64_t raw, const struct header *header,
		       const struct tape *tape)
{
	uint64_t strings = (uint64_t)strings_count(&tape->strings) * STRING_BYTES;

	return raw + header->raw + strings <= RAW_FREE + (uint64_t)size * RAW_A_BYTE &&
	       tape->samples.count + (uint64_t)header->samples <=
		       SAMPLES_FREE + (uint64_t)size * SAMPLES_A_BYTE;
}

static int decode_blocks(const void *data, size_t size, const struct header *first,
			 struct spool_rows *rows, struct progress *progress)
{
	struct unpacking unpacking = { 0 };
	struct header header;
	uint64_t raw = 0;
	int r = zstd_stream_new(&unpacking.stream);

	while (r == 0 && spool_read_header(data, size, progress->at, &header) &&
	       spool_belongs(&header, first) && header.number == progress->number &&
	       spool_is_whole(&header, size, progress->at) &&
	       spool_fits(size, raw, &header, rows->tape)) {
		raw += header.raw;
		r = decode_block(&header, (const uint8_t *)data + progress->at + HEADER_SIZE,
				 &unpacking, rows);
		if (r < 0)
			break;
		progress->at += HEADER_SIZE + header.stored;
		progress->number++;
		rows->tape->end_ns = MAX(rows->tape->end_ns, header.until_ns);
	}
	zstd_stream_free(unpacking.stream);
	buffer_done(&unpacking.raw);
	return r == -EBADMSG ? 0 : r;
}

/*
 * Returns where the trailing zeros begin, or the end of the file. After a power loss, a file may
 * have its new size but not its content.
 */
static size_t written_size(const uint8_t *data, size_t size, size_t from)
{
	size_t end = size;

	while (end > from && !data[end - 1])
		end--;
	return end == from ? end : MIN((end + SECTOR - 1) / SECTOR * SECTOR, size);
}

/* Returns whether the rest may be the beginning of the next block. */
static bool is_torn(const void *data, size_t size, const struct header *first,
		    struct progress progress)
{
	size_t written = written_size(data, size, progress.at), left = written - progress.at;
	size_t behind = progress.at + HEADER_SIZE;
	_cleanup_(buffer_done) struct buffer expected = { 0 };
	struct header header;

	if (left >= HEADER_SIZE)
		return spool_read_header(data, written, progress.at, &header) &&
		       spool_belongs(&header, first) && header.number == progress.number &&
		       !spool_is_whole(&header, written, progress.at) &&
		       !find_header(data, written, &behind, &header);
	put_expected(&expected, progress.number, first->sequence, first->begin_ns);
	return !buffer_failed(&expected) && memcmp((const uint8_t *)data + progress.at,
						   expected.data, MIN(left, expected.size)) == 0;
}

/*
 * Adds a loss with all samples that the headers in the rest state. Sets *timed_bytes to the end of
 * the last of these headers.
 */
static int add_damage(const void *data, size_t size, const struct header *first,
		      struct progress progress, struct tape *tape, uint64_t *timed_bytes)
{
	struct tape_loss loss = {
		.kind = TAPE_LOSS_DAMAGED,
		.cpu = TAPE_ALL_CPUS,
		.from_ns = tape->end_ns,
		.to_ns = tape->end_ns,
	};
	struct header header;
	bool more;

	for (more = find_header(data, size, &progress.at, &header); more;
	     more = next_header(data, size, &progress.at, &header)) {
		if (!spool_belongs(&header, first) || header.number < progress.number)
			continue;
		loss.to_ns = MAX(loss.to_ns, header.until_ns);
		loss.count += header.samples;
		progress.number = header.number + 1;
		*timed_bytes = MIN(progress.at + HEADER_SIZE + header.stored, size);
	}
	loss.count = MAX(loss.count, 1u);
	tape->end_ns = loss.to_ns;
	return array_push(&tape->losses, loss);
}

static int spool_finish(const void *data, size_t size, const struct header *first,
			struct progress progress, struct spool_rows *rows, struct spool_end *end,
			struct tape **ret_tape)
{
	*end = (struct spool_end){ .good_bytes = progress.at, .timed_bytes = progress.at };
	if (progress.at < size) {
		end->torn = is_torn(data, size, first, progress);
		end->damaged = !end->torn;
	}
	if (end->damaged &&
	    add_damage(data, size, first, progress, rows->tape, &end->timed_bytes) < 0)
		return -ENOMEM;
	if (spool_rows_finish(rows, ret_tape) < 0)
		return -ENOMEM;
	tape_span_samples(*ret_tape);
	return 0;
}

int spool_decode(const void *data, size_t size, struct tape **ret_tape, struct spool_end *ret_end,
		 struct error *error)
{
	_cleanup_(spool_rows_done) struct spool_rows rows = { 0 };
	struct progress progress = { 0 };
	struct header first;
	struct spool_end end;
	int r;

	if (!spool_read_header(data, size, 0, &first) || first.number != 0)
		return error_set(error, -EBADMSG,
				 "not a perftape spool, or its first block is damaged");
	if (first.version != VERSION)
		return refuse_version(first.version, error);
	r = spool_rows_init(&rows);
	if (r < 0)
		return r;
	rows.tape->unsealed = true;
	rows.tape->sequence = first.sequence;
	rows.tape->begin_ns = rows.tape->end_ns = first.begin_ns;
	r = decode_blocks(data, size, &first, &rows, &progress);
	if (r < 0)
		return r;
	if (!progress.number)
		return error_set(error, -EBADMSG, "the first block is damaged or incomplete");
	r = spool_finish(data, size, &first, progress, &rows, &end, ret_tape);
	if (r < 0)
		return r;
	*ret_end = end;
	return 0;
}
