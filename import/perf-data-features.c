// SPDX-License-Identifier: GPL-2.0-only
#include "import/perf-data-features.h"

#include <stdio.h>

enum feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_EVENT_DESC = 12,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCK_DATA = 29,
};

#define BUILD_ID_FIELD 24
#define BUILD_ID_SIZE_IS_SET (1 << 15)
#define EVENT_UPDATE_NAME 2

bool perf_feature_wanted(unsigned int feature)
{
	switch (feature) {
	case FEATURE_BUILD_ID:
	case FEATURE_HOSTNAME:
	case FEATURE_OSRELEASE:
	case FEATURE_VERSION:
	case FEATURE_ARCH:
	case FEATURE_NRCPUS:
	case FEATURE_EVENT_DESC:
	case FEATURE_SAMPLE_TIME:
	case FEATURE_CLOCK_DATA:
		return true;
	default:
		return false;
	}
}

/* Reads a length and a text of that length with at least one NUL. */
static int perf_data_features_read_text(struct reader *bytes, char *text, size_t size)
{
	uint32_t length = reader_u32(bytes);
	const char *there = reader_text(bytes, length);

	if (!there)
		return -EBADMSG;
	snprintf(text, size, "%s", there);
	return 0;
}

/* Reads one entry of the build-id list, with the record's header. */
static int perf_data_features_read_build_id(struct perf_data *file, struct reader *entry)
{
	struct perf_data_build_id row = { 0 };
	const uint8_t *field;
	const char *path;
	uint16_t misc;

	reader_u32(entry);
	misc = reader_u16(entry);
	reader_u16(entry);
	reader_u32(entry); /* pid */
	field = reader_take(entry, BUILD_ID_FIELD);
	path = reader_text(entry, reader_left(entry));
	if (!field || !path)
		return -EBADMSG;
	row.size = misc & BUILD_ID_SIZE_IS_SET ? field[20] : 20;
	if (!row.size || row.size > TAPE_BUILD_ID_MAX)
		return -EBADMSG;
	memcpy(row.id, field, row.size);
	row.path = strdup(path);
	if (!row.path || array_push(&file->build_ids, row) < 0) {
		free(row.path);
		return -ENOMEM;
	}
	return 0;
}

static int read_build_ids(struct perf_data *file, struct reader *bytes)
{
	int r = 0;

	while (r == 0 && reader_left(bytes) >= PERF_HEADER_SIZE) {
		const uint8_t *at = bytes->data + bytes->position;
		size_t size = at[6] | at[7] << 8;
		struct reader entry;

		if (!reader_take(bytes, MAX(size, (size_t)PERF_HEADER_SIZE)))
			return -EBADMSG;
		reader_init(&entry, at, size);
		r = perf_data_features_read_build_id(file, &entry);
	}
	return r;
}

/* Reads the events' names, by their ids. An event that has no name here keeps its default name. */
static int read_event_names(struct perf_data *file, struct reader *bytes)
{
	uint32_t count = reader_u32(bytes), attr_size = reader_u32(bytes);

	for (uint32_t i = 0; i < count && !reader_failed(bytes); i++) {
		struct perf_data_event *event;
		uint32_t ids;
		char name[sizeof(event->name)];

		reader_take(bytes, attr_size);
		ids = reader_u32(bytes);
		if (perf_data_features_read_text(bytes, name, sizeof(name)) < 0)
			return -EBADMSG;
		event = ids ? (struct perf_data_event *)perf_data_event(file, reader_u64(bytes))
			    : NULL;
		if (!event && i < file->events.count && !ids)
			event = &file->events.items[i];
		if (ids > 1)
			reader_take(bytes, (size_t)(ids - 1) * 8);
		if (event && !reader_failed(bytes))
			memcpy(event->name, name, sizeof(name));
	}
	return reader_failed(bytes) ? -EBADMSG : 0;
}

static int read_clock(struct perf_data *file, struct reader *bytes)
{
	uint64_t realtime_ns, clock_ns;

	reader_u32(bytes); /* version */
	reader_u32(bytes); /* which clock; the attributes say it, too */
	realtime_ns = reader_u64(bytes);
	clock_ns = reader_u64(bytes);
	if (reader_failed(bytes))
		return -EBADMSG;
	file->has_clock = true;
	file->realtime_ns = realtime_ns;
	file->clock_ns = clock_ns;
	return 0;
}

int perf_feature_read(struct perf_data *file, unsigned int feature, const uint8_t *data,
		      size_t size)
{
	struct reader bytes;

	reader_init(&bytes, data, size);
	switch (feature) {
	case FEATURE_BUILD_ID:
		return read_build_ids(file, &bytes);
	case FEATURE_HOSTNAME:
		return perf_data_features_read_text(&bytes, file->host, sizeof(file->host));
	case FEATURE_OSRELEASE:
		return perf_data_features_read_text(&bytes, file->release, sizeof(file->release));
	case FEATURE_VERSION:
		return perf_data_features_read_text(&bytes, file->perf_version,
						    sizeof(file->perf_version));
	case FEATURE_ARCH:
		return perf_data_features_read_text(&bytes, file->machine, sizeof(file->machine));
	case FEATURE_NRCPUS:
		reader_u32(&bytes); /* possible CPUs */
		file->cpus = reader_u32(&bytes);
		return 0;
	case FEATURE_EVENT_DESC:
		return read_event_names(file, &bytes);
	case FEATURE_SAMPLE_TIME:
		file->first_ns = reader_u64(&bytes);
		file->last_ns = reader_u64(&bytes);
		return 0;
	case FEATURE_CLOCK_DATA:
		return read_clock(file, &bytes);
	default:
		return 0;
	}
}

/* The attribute contains its own size, and the ids follow it. */
static int read_attr_record(struct perf_data *file, struct reader *body)
{
	struct perf_data_event event;
	struct reader attr;
	uint32_t size;
	const uint8_t *at;

	at = body->data + body->position;
	if (reader_left(body) < 64)
		return -EBADMSG;
	memcpy(&size, at + 4, sizeof(size));
	if (!reader_take(body, size))
		return -EBADMSG;
	reader_init(&attr, at, size);
	if (perf_data_read_attr(&attr, &event) < 0)
		return -EBADMSG;
	return perf_data_add_event(file, &event, body);
}

static int read_update(struct perf_data *file, struct reader *body)
{
	uint64_t kind = reader_u64(body), id = reader_u64(body);
	struct perf_data_event *event = (struct perf_data_event *)perf_data_event(file, id);
	const char *name;

	if (kind != EVENT_UPDATE_NAME || !event)
		return 0;
	name = reader_text(body, reader_left(body));
	if (!name)
		return -EBADMSG;
	snprintf(event->name, sizeof(event->name), "%s", name);
	return 0;
}

int perf_feature_record(struct perf_data *file, uint32_t type, const uint8_t *record, size_t size)
{
	struct reader body;
	uint64_t feature;

	reader_init(&body, record, size);
	if (type == PERF_DATA_BUILD_ID)
		return perf_data_features_read_build_id(file, &body);
	reader_take(&body, PERF_HEADER_SIZE);
	if (type == PERF_DATA_ATTR)
		return read_attr_record(file, &body);
	if (type == PERF_DATA_EVENT_UPDATE)
		return read_update(file, &body);
	feature = reader_u64(&body);
	if (reader_failed(&body) || feature >= 256 || !perf_feature_wanted(feature))
		return 0;
	return perf_feature_read(file, feature, body.data + body.position, reader_left(&body));
}
