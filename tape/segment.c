// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment.h"

#include <stdio.h>

#include "pack/zstd.h"
#include "tape/sections.h"

/*
 * The file: a header, then the sections one behind the other.
 *
 *   0   8  magic
 *   8   4  version
 *   12  4  number of sections N
 *   16  28 N times: u32 section id, u64 offset, u64 stored size, u32 raw size, u32 CRC-32C of the stored bytes
 *       4  CRC-32C of all of the above
 *
 * A stored section is one zstd frame. Sections that this version does not know are skipped.
 */
#define HEADER_SIZE 16
#define ENTRY_SIZE 28
#define SECTIONS_MAX 64
#define RAW_MAX (1u << 30)

struct entry {
	uint32_t id;
	uint64_t offset;
	uint64_t stored;
	uint32_t raw;
	uint32_t crc;
};

static void put_entry(struct buffer *bytes, const struct entry *entry)
{
	buffer_u32(bytes, entry->id);
	buffer_u64(bytes, entry->offset);
	buffer_u64(bytes, entry->stored);
	buffer_u32(bytes, entry->raw);
	buffer_u32(bytes, entry->crc);
}

static struct entry get_entry(struct reader *reader)
{
	struct entry entry;

	entry.id = reader_u32(reader);
	entry.offset = reader_u64(reader);
	entry.stored = reader_u64(reader);
	entry.raw = reader_u32(reader);
	entry.crc = reader_u32(reader);
	return entry;
}

static int put_section(const struct section *section, const struct tape *tape, int level,
	size_t limit, struct buffer *body, struct entry *ret_entry)
{
	_cleanup_(buffer_done) struct buffer raw = { 0 };
	size_t start = body->size;
	int r;

	section->encode(tape, &raw);
	if (buffer_failed(&raw))
		return -ENOMEM;
	if (raw.size > MIN(limit, (size_t)RAW_MAX))
		return -EFBIG;
	r = zstd_append(body, raw.data, raw.size, level);
	if (r < 0)
		return r;
	*ret_entry = (struct entry){
		.id = section->id,
		.offset = start,
		.stored = body->size - start,
		.raw = raw.size,
		.crc = crc32c(0, body->data + start, body->size - start),
	};
	return 0;
}

int segment_encode(
	const struct tape *tape, enum segment_effort effort, size_t limit, struct buffer *bytes)
{
	int level = effort == SEGMENT_HASTY ? 1 : 9;
	_cleanup_(buffer_done) struct buffer body = { 0 };
	struct entry entries[SECTIONS_MAX];
	size_t count = 0, body_at, start = bytes->size;
	int r;

	for (const struct section *section = sections; section->name; section++) {
		r = put_section(section, tape, level, limit, &body, &entries[count++]);
		if (r < 0)
			return r;
	}
	if (body.size > limit)
		return -EFBIG;
	body_at = HEADER_SIZE + count * ENTRY_SIZE + 4;
	buffer_bytes(bytes, SEGMENT_MAGIC, 8);
	buffer_u32(bytes, SEGMENT_VERSION);
	buffer_u32(bytes, count);
	for (size_t i = 0; i < count; i++) {
		entries[i].offset += body_at;
		put_entry(bytes, &entries[i]);
	}
	if (buffer_failed(bytes))
		return -ENOMEM;
	buffer_u32(bytes, crc32c(0, bytes->data + start, bytes->size - start));
	buffer_bytes(bytes, body.data, body.size);
	return buffer_failed(bytes) ? -ENOMEM : 0;
}

struct contents {
	struct entry entries[SECTIONS_MAX];
	size_t count;
};

static int read_contents(const void *data, size_t size, struct contents *ret, struct error *error)
{
	struct reader reader;
	const void *magic;
	uint32_t version, count, crc;

	reader_init(&reader, data, size);
	magic = reader_take(&reader, 8);
	version = reader_u32(&reader);
	count = reader_u32(&reader);
	if (reader_failed(&reader) || memcmp(magic, SEGMENT_MAGIC, 8) != 0)
		return error_set(error, -EBADMSG, "not a perftape segment");
	if (version != SEGMENT_VERSION)
		return error_set(error, -EPROTONOSUPPORT,
			"segment format version %u is newer than this perftape (%u)", version,
			SEGMENT_VERSION);
	if (count > SECTIONS_MAX)
		return error_set(error, -EBADMSG, "damaged at offset 12: %u sections", count);
	for (ret->count = 0; ret->count < count; ret->count++)
		ret->entries[ret->count] = get_entry(&reader);
	crc = crc32c(0, data, MIN(reader.position, size));
	if (reader_u32(&reader) != crc || reader_failed(&reader))
		return error_set(error, -EBADMSG, "damaged header (checksum)");
	return 0;
}

/* The raw bytes of one section, checked; the caller frees them. */
static int read_section(const void *data, size_t size, const struct entry *entry, const char *name,
	uint8_t **ret_raw, struct error *error)
{
	_cleanup_free_ uint8_t *raw = NULL;
	struct reader reader;
	const void *stored;

	reader_init(&reader, data, size);
	reader_take(&reader, MIN(entry->offset, size));
	stored = entry->offset <= size ? reader_take(&reader, entry->stored) : NULL;
	if (!stored || entry->raw > RAW_MAX)
		return error_set(error, -EBADMSG, "section %s lies outside the file", name);
	if (crc32c(0, stored, entry->stored) != entry->crc)
		return error_set(error, -EBADMSG, "section %s at offset %llu is damaged (checksum)",
			name, (unsigned long long)entry->offset);
	raw = malloc(entry->raw ? entry->raw : 1);
	if (!raw)
		return -ENOMEM;
	if (zstd_exact(raw, entry->raw, stored, entry->stored) < 0)
		return error_set(error, -EBADMSG, "section %s at offset %llu does not decompress",
			name, (unsigned long long)entry->offset);
	*ret_raw = take_ptr(raw);
	return 0;
}

static int decode_section(const void *data, size_t size, const struct contents *contents,
	const struct section *section, struct tape *tape, struct error *error)
{
	_cleanup_free_ uint8_t *raw = NULL;
	const struct entry *entry = NULL;
	struct reader reader;
	int r;

	for (size_t i = 0; i < contents->count && !entry; i++)
		if (contents->entries[i].id == section->id)
			entry = &contents->entries[i];
	if (!entry)
		return error_set(error, -EBADMSG, "section %s is missing", section->name);
	r = read_section(data, size, entry, section->name, &raw, error);
	if (r < 0)
		return r;
	reader_init(&reader, raw, entry->raw);
	r = section->decode(tape, &reader);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || reader_failed(&reader) || reader_left(&reader))
		return error_set(error, -EBADMSG, "section %s: bad value at its byte %zu",
			section->name, reader_failed(&reader) ? reader.failed_at : reader.position);
	return 0;
}

static int read_memory(const struct segment_input *input, uint64_t offset, void *to, size_t size)
{
	if (offset > input->size || size > input->size - offset)
		return -EBADMSG;
	memcpy(to, (const uint8_t *)input->data + input->offset + offset, size);
	return 0;
}

static int read_file(const struct segment_input *input, uint64_t offset, void *to, size_t size)
{
	ssize_t got;

	if (offset > input->size || size > input->size - offset)
		return -EBADMSG;
	for (size_t done = 0; done < size; done += got) {
		got = pread(input->fd, (uint8_t *)to + done, size - done,
			input->offset + offset + done);
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
	}
	return 0;
}

struct segment_input segment_input_memory(const void *data, size_t size)
{
	return (struct segment_input){ .read = read_memory, .data = data, .fd = -1, .size = size };
}

struct segment_input segment_input_file(int fd, uint64_t offset, uint64_t size)
{
	return (struct segment_input){
		.read = read_file, .fd = fd, .offset = offset, .size = size
	};
}

static int decode_bytes(const void *data, size_t size, struct tape **ret_tape, struct error *error)
{
	_cleanup_(cleanup_tape) struct tape *tape = calloc(1, sizeof(*tape));
	struct contents contents;
	int r;

	if (!tape)
		return -ENOMEM;
	r = read_contents(data, size, &contents, error);
	for (const struct section *section = sections; section->name && r == 0; section++)
		r = decode_section(data, size, &contents, section, tape, error);
	if (r < 0)
		return r;
	*ret_tape = take_ptr(tape);
	return 0;
}

/* Do all sections end within the file? */
static bool is_whole(const struct contents *contents, uint64_t file_bytes)
{
	for (size_t i = 0; i < contents->count; i++) {
		const struct entry *entry = &contents->entries[i];

		if (entry->offset > file_bytes || entry->stored > file_bytes - entry->offset)
			return false;
	}
	return true;
}

int segment_decode(const struct segment_input *input, const struct segment_want *want,
	struct tape **ret_tape, struct error *error)
{
	_cleanup_free_ void *data = malloc(input->size + 1);
	int r = data ? input->read(input, 0, data, input->size) : -ENOMEM;

	return r < 0 ? r : decode_bytes(data, input->size, ret_tape, error);
}

int segment_peek(const void *data, size_t size, uint64_t file_bytes,
	struct segment_summary *ret_summary, struct error *error)
{
	_cleanup_free_ uint8_t *raw = NULL;
	struct contents contents;
	struct reader reader;
	int r;

	r = read_contents(data, size, &contents, error);
	if (r < 0)
		return r;
	if (!contents.count || contents.entries[0].id != SECTION_SUMMARY)
		return error_set(error, -EBADMSG, "section summary is missing");
	r = read_section(data, size, &contents.entries[0], "summary", &raw, error);
	if (r < 0)
		return r;
	reader_init(&reader, raw, contents.entries[0].raw);
	if (summary_decode(&reader, ret_summary) < 0)
		return error_set(error, -EBADMSG, "section summary is damaged");
	return is_whole(&contents, file_bytes) ? 0 : error_set(error, 1, "the file is cut short");
}

/* Where the wall clock was set while the segment was recorded, it spans all that the clock showed. */
static void wall_range(const struct tape *tape, uint64_t *ret_begin_ns, uint64_t *ret_end_ns)
{
	uint64_t begin_ns = tape_to_realtime(tape, tape->begin_ns, NULL);
	uint64_t end_ns = tape_to_realtime(tape, tape->end_ns, NULL);
	uint64_t low_ns = MIN(begin_ns, end_ns), high_ns = MAX(begin_ns, end_ns);

	for (size_t i = 0; i < tape->anchors.count; i++) {
		const struct tape_anchor *anchor = &tape->anchors.items[i];

		if (anchor->perf_ns <= tape->begin_ns || anchor->perf_ns >= tape->end_ns)
			continue;
		low_ns = MIN(low_ns, anchor->realtime_ns);
		high_ns = MAX(high_ns, anchor->realtime_ns);
		/* a step lies at the later anchor: until then the clock ran on from the one before */
		high_ns = MAX(high_ns, tape_to_realtime(tape, anchor->perf_ns - 1, NULL));
	}
	*ret_begin_ns = low_ns;
	*ret_end_ns = high_ns;
}

void segment_summarize(const struct tape *tape, struct segment_summary *ret_summary)
{
	*ret_summary = (struct segment_summary){
		.sequence = tape->sequence,
		.samples = tape->samples.count,
	};

	wall_range(tape, &ret_summary->begin_ns, &ret_summary->end_ns);
	for (size_t i = 0; i < tape->losses.count; i++)
		if (tape->losses.items[i].kind == TAPE_LOSS_SAMPLES)
			ret_summary->lost += tape->losses.items[i].count;
	snprintf(ret_summary->boot_id, sizeof(ret_summary->boot_id), "%s",
		tape_fact(tape, "boot_id"));
}
