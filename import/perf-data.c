// SPDX-License-Identifier: GPL-2.0-only
#include "import/perf-data.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/stat.h>

#include "import/perf-data-features.h"

/*
 * A header of 104 bytes. A file from a pipe has only the first 16 bytes; the rest of the header
 * comes as records:
 *
 *   0   8  "PERFILE2"
 *   8   8  size of the header
 *   16  8  size of an entry of the attributes
 *   24  16 attributes: offset, size
 *   40  16 data: offset, size (0: not finished)
 *   56  16 event types, unused
 *   72  32 one bit per feature; their offsets and sizes follow the data, in the order of the bits
 */
#define HEADER_SIZE 104
#define PIPE_HEADER_SIZE 16
#define ATTRS_MAX (16u << 20)
#define FEATURE_MAX (256u << 20)
#define IDS_MAX (1u << 20)

#define ATTR_FREQ (1ull << 10)
#define ATTR_SAMPLE_ID_ALL (1ull << 18)
#define ATTR_USE_CLOCKID (1ull << 25)
#define ATTR_BUILD_ID (1ull << 34)

void perf_data_done(struct perf_data *file)
{
	for (size_t i = 0; i < file->build_ids.count; i++)
		free(file->build_ids.items[i].path);
	array_done(&file->events);
	array_done(&file->ids);
	table_done(&file->id_table);
	array_done(&file->build_ids);
}

int perf_data_load(const struct perf_data *file, uint64_t offset, uint64_t size,
		   struct buffer *bytes)
{
	bytes->size = 0;
	if (offset > file->size || size > file->size - offset || size > FEATURE_MAX)
		return -EBADMSG;
	if (!buffer_room(bytes, size + 1))
		return -ENOMEM;
	while (bytes->size < size) {
		ssize_t got = pread(file->fd, bytes->data + bytes->size, size - bytes->size,
				    offset + bytes->size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		bytes->size += got;
	}
	return 0;
}

int perf_data_read_attr(struct reader *attr, struct perf_data_event *event)
{
	uint64_t flags;

	*event = (struct perf_data_event){ .clock = -1 };
	event->type = reader_u32(attr);
	reader_u32(attr); /* its own size */
	event->config = reader_u64(attr);
	event->rate = reader_u64(attr);
	event->layout.sample_type = reader_u64(attr);
	event->layout.read_format = reader_u64(attr);
	flags = reader_u64(attr);
	if (reader_failed(attr))
		return -EBADMSG;
	event->by_frequency = flags & ATTR_FREQ;
	event->layout.sample_id_all = flags & ATTR_SAMPLE_ID_ALL;
	event->layout.build_id = flags & ATTR_BUILD_ID;
	reader_take(attr, 32);
	event->layout.regs_user = reader_u64(attr);
	reader_u32(attr); /* the size of the stack's copy, which each sample states, too */
	if (flags & ATTR_USE_CLOCKID)
		event->clock = (int32_t)reader_u32(attr);
	snprintf(event->name, sizeof(event->name), "%s",
		 event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_CPU_CLOCK
			 ? "cpu-clock"
		 : event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_DUMMY
			 ? "dummy"
		 : event->type == PERF_TYPE_HARDWARE && event->config == 0 ? "cycles"
									   : "event");
	return 0;
}

int perf_data_add_event(struct perf_data *file, const struct perf_data_event *event,
			struct reader *ids)
{
	struct perf_data_id row = { .event = file->events.count };

	if (array_push(&file->events, *event) < 0)
		return -ENOMEM;
	while (reader_left(ids) >= 8 && file->ids.count < IDS_MAX) {
		row.id = reader_u64(ids);
		if (array_push(&file->ids, row) < 0 ||
		    table_add(&file->id_table, hash_numbers(row.id, 0), file->ids.count - 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_attrs(struct perf_data *file, uint64_t offset, uint64_t size, uint64_t entry_size)
{
	_cleanup_(buffer_done) struct buffer attrs = { 0 }, ids = { 0 };
	struct perf_data_event event;
	int r;

	if (entry_size < 64 || entry_size > 4096 || size > ATTRS_MAX || !size)
		return -EBADMSG;
	r = perf_data_load(file, offset, size, &attrs);
	for (uint64_t at = 0; r == 0 && at + entry_size <= size; at += entry_size) {
		struct reader attr, section, list;
		uint64_t ids_offset, ids_size;

		reader_init(&attr, attrs.data + at, entry_size - 16);
		reader_init(&section, attrs.data + at + entry_size - 16, 16);
		ids_offset = reader_u64(&section);
		ids_size = reader_u64(&section);
		r = perf_data_read_attr(&attr, &event);
		if (r < 0)
			return r;
		r = perf_data_load(file, ids_offset, ids_size, &ids);
		if (r < 0)
			return r;
		reader_init(&list, ids.data, ids.size);
		r = perf_data_add_event(file, &event, &list);
	}
	return r == 0 && !file->events.count ? -EBADMSG : r;
}

/* Features are extras: skip a damaged one and read the others. */
static int read_features(struct perf_data *file, const uint64_t bits[4])
{
	_cleanup_(buffer_done) struct buffer table = { 0 }, feature = { 0 };
	size_t count = 0;
	struct reader sections;
	int r;

	for (int i = 0; i < 4; i++)
		count += __builtin_popcountll(bits[i]);
	r = perf_data_load(file, file->data_end, count * 16, &table);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	reader_init(&sections, table.data, table.size);
	for (unsigned int bit = 0; bit < 256; bit++) {
		uint64_t offset, size;

		if (!(bits[bit / 64] >> (bit % 64) & 1))
			continue;
		offset = reader_u64(&sections);
		size = reader_u64(&sections);
		if (!perf_feature_wanted(bit))
			continue;
		r = perf_data_load(file, offset, size, &feature);
		if (r == 0)
			r = perf_feature_read(file, bit, feature.data, feature.size);
		if (r < 0 && r != -EBADMSG)
			return r;
	}
	return 0;
}

static int perf_data_read_header(struct perf_data *file, const struct buffer *head,
				 struct error *error)
{
	uint64_t entry_size, attrs_offset, attrs_size, data_size, bits[4];
	struct reader reader;
	int r;

	reader_init(&reader, head->data, head->size);
	reader_take(&reader, 16);
	entry_size = reader_u64(&reader);
	attrs_offset = reader_u64(&reader);
	attrs_size = reader_u64(&reader);
	file->data_offset = reader_u64(&reader);
	data_size = reader_u64(&reader);
	reader_take(&reader, 16);
	for (int i = 0; i < 4; i++)
		bits[i] = reader_u64(&reader);
	if (reader_failed(&reader) || file->data_offset > file->size)
		return error_set(error, -EBADMSG, "the perf.data header is truncated or damaged");
	file->unfinished = data_size == 0 || data_size > file->size - file->data_offset;
	file->data_end = file->unfinished ? file->size : file->data_offset + data_size;
	r = read_attrs(file, attrs_offset, attrs_size, entry_size);
	if (r == -EBADMSG)
		return error_set(error, r, "the perf.data header names no readable event");
	if (r == 0 && !file->unfinished)
		r = read_features(file, bits);
	return r < 0 ? error_set(error, r, "%s", strerror(-r)) : 0;
}

/* Reads one of the first records of a file from a pipe, which replace the header. */
static int take_pipe_record(void *context, const uint8_t *record, size_t size, uint64_t offset)
{
	struct perf_data *file = context;
	uint32_t type;
	int r = 0;

	memcpy(&type, record, sizeof(type));
	if (type == PERF_DATA_ATTR || type == PERF_DATA_FEATURE || type == PERF_DATA_BUILD_ID ||
	    type == PERF_DATA_EVENT_UPDATE)
		r = perf_feature_record(file, type, record, size);
	if (r < 0 && r != -EBADMSG)
		return r;
	return type < 64 ? -ECANCELED : 0;
}

static int perf_data_read_pipe(struct perf_data *file, struct error *error)
{
	int r;

	file->pipe = true;
	file->data_offset = PIPE_HEADER_SIZE;
	file->data_end = file->size;
	r = perf_data_read(file, NULL, take_pipe_record, file, NULL);
	if (r < 0 && r != -ECANCELED)
		return error_set(error, r, "%s", strerror(-r));
	if (!file->events.count)
		return error_set(error, -EBADMSG, "the perf.data header names no readable event");
	return 0;
}

int perf_data_open(int fd, struct perf_data *ret_file, struct error *error)
{
	_cleanup_(perf_data_done) struct perf_data file = { .fd = fd };
	_cleanup_(buffer_done) struct buffer head = { 0 };
	struct reader reader;
	const char *magic;
	struct stat about;
	uint64_t size;
	int r;

	if (fstat(fd, &about) < 0)
		return error_set(error, -errno, "%s", strerror(errno));
	if (!S_ISREG(about.st_mode))
		return error_set(error, -EINVAL, "not a regular file");
	file.size = about.st_size;
	r = perf_data_load(&file, 0, MIN(file.size, (uint64_t)HEADER_SIZE), &head);
	if (r < 0)
		return error_set(error, r, "%s", strerror(-r));
	reader_init(&reader, head.data, head.size);
	magic = reader_take(&reader, 8);
	size = reader_u64(&reader);
	if (magic && memcmp(magic, "2ELIFREP", 8) == 0)
		return error_set(error, -EPROTONOSUPPORT,
				 "a perf.data file from a big-endian machine");
	if (!magic || memcmp(magic, "PERFILE2", 8) != 0)
		return error_set(error, -EBADMSG, "not a perf.data file");
	r = size == PIPE_HEADER_SIZE ? perf_data_read_pipe(&file, error)
				     : perf_data_read_header(&file, &head, error);
	if (r < 0)
		return r;
	*ret_file = file;
	file = (struct perf_data){ 0 };
	return 0;
}

static bool perf_data_id_equal(const void *context, uint32_t at, const void *id)
{
	return ((const struct perf_data *)context)->ids.items[at].id == *(const uint64_t *)id;
}

const struct perf_data_event *perf_data_event(const struct perf_data *file, uint64_t id)
{
	uint32_t at;

	if (file->events.count == 1)
		return file->events.items;
	at = table_find(&file->id_table, hash_numbers(id, 0), perf_data_id_equal, file, &id);
	return at == TABLE_NONE ? NULL : &file->events.items[file->ids.items[at].event];
}

/*
 * With PERF_SAMPLE_IDENTIFIER, the id is the first field of a sample and the last field of any
 * other record. The fields between may differ from event to event, so the event's own layout finds
 * them.
 */
struct perf_record_place perf_data_place(const struct perf_data *file, const uint8_t *record,
					 size_t size)
{
	const struct perf_layout *layout = &file->events.items[0].layout;
	struct perf_record_place place = perf_record_place(layout, record, size);
	const struct perf_data_event *event;

	if (file->events.count == 1 || !(layout->sample_type & PERF_SAMPLE_IDENTIFIER))
		return place;
	event = perf_data_event(file, place.id);
	return event && event != file->events.items
		       ? perf_record_place(&event->layout, record, size)
		       : place;
}
