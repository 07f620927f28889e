// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/contents.h"

#include <stdio.h>

void contents_done(struct contents *contents)
{
	array_done(&contents->entries);
}

/*
 *   0    8   magic
 *   8    4   version
 *   12   4   number of sections N
 *   16   8   bytes of the whole segment
 *   24   8   sequence
 *   32   8   wall clock: begin
 *   40   8   wall clock: end
 *   48   8   perf clock: begin
 *   56   8   perf clock: end
 *   64   8   samples
 *   72   8   lost samples
 *   80   8   incidents
 *   88   40  boot id, NUL-terminated
 *   128  4   0
 *   132  4   CRC-32C of the bytes before
 *   136  40  N times: 8 name, u32 flags, u32 CRC-32C, u64 offset, u64 stored size, u64 raw size
 *        4   CRC-32C of the table
 */
static void contents_put_header(const struct segment_summary *summary, uint32_t sections,
				struct buffer *bytes)
{
	size_t start = bytes->size;

	buffer_bytes(bytes, SEGMENT_MAGIC, 8);
	buffer_u32(bytes, SEGMENT_VERSION);
	buffer_u32(bytes, sections);
	buffer_u64(bytes, summary->bytes);
	buffer_u64(bytes, summary->sequence);
	buffer_u64(bytes, summary->begin_ns);
	buffer_u64(bytes, summary->end_ns);
	buffer_u64(bytes, summary->perf_begin_ns);
	buffer_u64(bytes, summary->perf_end_ns);
	buffer_u64(bytes, summary->samples);
	buffer_u64(bytes, summary->lost);
	buffer_u64(bytes, summary->incidents);
	buffer_bytes(bytes, summary->boot_id, sizeof(summary->boot_id));
	buffer_u32(bytes, 0);
	if (!buffer_failed(bytes))
		buffer_u32(bytes, crc32c(0, bytes->data + start, bytes->size - start));
}

static int get_header(struct reader *reader, struct segment_summary *ret_summary,
		      uint32_t *ret_sections)
{
	struct segment_summary summary = { 0 };
	const char *boot_id;

	*ret_sections = reader_u32(reader);
	summary.bytes = reader_u64(reader);
	summary.sequence = reader_u64(reader);
	summary.begin_ns = reader_u64(reader);
	summary.end_ns = reader_u64(reader);
	summary.perf_begin_ns = reader_u64(reader);
	summary.perf_end_ns = reader_u64(reader);
	summary.samples = reader_u64(reader);
	summary.lost = reader_u64(reader);
	summary.incidents = reader_u64(reader);
	boot_id = reader_text(reader, sizeof(summary.boot_id));
	if (!boot_id || strchr(boot_id, '/') || reader_u32(reader) != 0 ||
	    summary.end_ns < summary.begin_ns || summary.perf_end_ns < summary.perf_begin_ns ||
	    summary.perf_begin_ns % TAPE_TIME_UNIT_NS || summary.perf_end_ns % TAPE_TIME_UNIT_NS ||
	    *ret_sections > CONTENTS_MAX)
		return -EBADMSG;
	snprintf(summary.boot_id, sizeof(summary.boot_id), "%s", boot_id);
	*ret_summary = summary;
	return 0;
}

int contents_decode_header(const void *data, size_t size, struct segment_summary *ret_summary,
			   uint32_t *ret_sections, struct error *error)
{
	struct reader reader;
	const void *magic;
	uint32_t version;

	reader_init(&reader, data, size);
	magic = reader_take(&reader, 8);
	version = reader_u32(&reader);
	if (reader_failed(&reader) || memcmp(magic, SEGMENT_MAGIC, 8) != 0)
		return error_set(error, -EBADMSG, "not a perftape segment");
	if (version != SEGMENT_VERSION)
		return error_set(
			error, -EPROTONOSUPPORT,
			"segment format version %u is unknown; this perftape reads version %u",
			version, SEGMENT_VERSION);
	if (size < CONTENTS_HEADER)
		return error_set(error, -EBADMSG, "the header is truncated");
	reader_init(&reader, (const uint8_t *)data + CONTENTS_HEADER - 4, 4);
	if (reader_u32(&reader) != crc32c(0, data, CONTENTS_HEADER - 4))
		return error_set(error, -EBADMSG, "damaged header (checksum)");
	reader_init(&reader, (const uint8_t *)data + 12, CONTENTS_HEADER - 16);
	if (get_header(&reader, ret_summary, ret_sections) < 0)
		return error_set(error, -EBADMSG, "damaged header");
	return 0;
}

static void put_entry(const struct contents_entry *entry, struct buffer *bytes)
{
	char name[CONTENTS_NAME] = { 0 };

	memcpy(name, entry->name, strnlen(entry->name, sizeof(name)));
	buffer_bytes(bytes, name, sizeof(name));
	buffer_u32(bytes, entry->flags);
	buffer_u32(bytes, entry->crc);
	buffer_u64(bytes, entry->offset);
	buffer_u64(bytes, entry->stored);
	buffer_u64(bytes, entry->raw);
}

static struct contents_entry get_entry(struct reader *reader)
{
	struct contents_entry entry = { 0 };
	const char *name = reader_take(reader, CONTENTS_NAME);

	/* texts quote the name, so replace unprintable bytes */
	for (size_t i = 0; name && i < CONTENTS_NAME && name[i]; i++)
		entry.name[i] = name[i] > ' ' && name[i] <= '~' ? name[i] : '?';
	entry.flags = reader_u32(reader);
	entry.crc = reader_u32(reader);
	entry.offset = reader_u64(reader);
	entry.stored = reader_u64(reader);
	entry.raw = reader_u64(reader);
	return entry;
}

static uint64_t table_end(size_t sections)
{
	return CONTENTS_HEADER + sections * CONTENTS_ENTRY + 4;
}

void contents_encode(struct contents *contents, struct buffer *bytes)
{
	uint64_t offset = table_end(contents->entries.count);
	size_t start;

	for (size_t i = 0; i < contents->entries.count; i++) {
		contents->entries.items[i].offset = offset;
		offset += contents->entries.items[i].stored;
	}
	contents->summary.bytes = offset;
	contents_put_header(&contents->summary, contents->entries.count, bytes);
	start = bytes->size;
	for (size_t i = 0; i < contents->entries.count; i++)
		put_entry(&contents->entries.items[i], bytes);
	if (!buffer_failed(bytes))
		buffer_u32(bytes, crc32c(0, bytes->data + start, bytes->size - start));
}

static int get_entries(struct contents *contents, const void *data, size_t sections)
{
	size_t size = sections * CONTENTS_ENTRY;
	uint64_t offset = table_end(sections);
	struct reader reader;

	reader_init(&reader, (const uint8_t *)data + size, 4);
	if (reader_u32(&reader) != crc32c(0, data, size))
		return -EBADMSG;
	reader_init(&reader, data, size);
	for (size_t i = 0; i < sections; i++) {
		struct contents_entry entry = get_entry(&reader);

		if (entry.offset != offset || entry.stored > contents->summary.bytes - offset)
			return -EBADMSG;
		offset += entry.stored;
		if (array_push(&contents->entries, entry) < 0)
			return -ENOMEM;
	}
	return offset == contents->summary.bytes ? 0 : -EBADMSG;
}

bool contents_fit(const struct contents *contents, uint64_t strings)
{
	const struct segment_summary *summary = &contents->summary;
	uint64_t raw = strings * CONTENTS_STRING_BYTES;

	for (size_t i = 0; i < contents->entries.count; i++) {
		if (contents->entries.items[i].raw > UINT64_MAX - raw)
			return false;
		raw += contents->entries.items[i].raw;
	}
	return summary->samples <=
		       CONTENTS_SAMPLES_FREE + CONTENTS_SAMPLES_A_BYTE * summary->bytes &&
	       raw <= CONTENTS_RAW_FREE + CONTENTS_RAW_A_BYTE * summary->bytes;
}

int contents_read(struct contents *contents, const struct segment_input *input, struct error *error)
{
	uint8_t header[CONTENTS_HEADER] = { 0 };
	size_t head = MIN(input->size, sizeof(header)), size;
	_cleanup_free_ void *table = NULL;
	uint32_t sections;
	int r;

	r = input->read(input, 0, header, head);
	if (r < 0)
		return error_set(error, r, "cannot read the header: %s", strerror(-r));
	r = contents_decode_header(header, head, &contents->summary, &sections, error);
	if (r < 0)
		return r;
	if (contents->summary.bytes > input->size || contents->summary.bytes < table_end(sections))
		return error_set(error, -EBADMSG,
				 "the file is truncated: it has %llu of %llu bytes",
				 (unsigned long long)input->size,
				 (unsigned long long)contents->summary.bytes);
	size = table_end(sections) - CONTENTS_HEADER;
	table = malloc(size);
	if (!table)
		return -ENOMEM;
	r = input->read(input, CONTENTS_HEADER, table, size);
	if (r < 0)
		return error_set(error, r, "cannot read the table of contents: %s", strerror(-r));
	r = get_entries(contents, table, sections);
	if (r == -EBADMSG)
		return error_set(error, r, "damaged table of contents at offset %u",
				 CONTENTS_HEADER);
	if (r < 0)
		return r;
	if (!contents_fit(contents, 0))
		return error_set(
			error, -EBADMSG,
			"damaged: %llu samples in %llu bytes, or more than those unpack to",
			(unsigned long long)contents->summary.samples,
			(unsigned long long)contents->summary.bytes);
	return 0;
}
