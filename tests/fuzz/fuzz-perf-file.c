// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as a perf.data file, through the whole import except the store: header and
 * features, decompression of the records, their order by time, a tape.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "unpacker/unpack-helper.h"
#include "recorder/build/tape-builder.h"
#include "import/perf-data.h"
#include "recorder/pipeline/reorder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct whole {
	struct perf_data file;
	struct reorder reorder;
	struct tracker tracker;
	struct tape_builder builder;
	uint64_t offset;
	size_t given;
};

/* More than this only takes time. */
#define BYTES_MAX (1u << 20)

static int take(void *context, const uint8_t *record, size_t size, uint64_t offset)
{
	struct whole *whole = context;
	const struct perf_data_event *event;
	struct perf_record_place place;
	uint32_t type;

	if (size < PERF_HEADER_SIZE || offset < whole->offset || offset > whole->file.size)
		abort();
	whole->offset = offset;
	whole->given += size;
	if (whole->given > BYTES_MAX)
		return -ECANCELED;
	memcpy(&type, record, sizeof(type));
	if (type >= PERF_DATA_ATTR)
		return 0;
	place = perf_data_place(&whole->file, record, size);
	event = perf_data_event(&whole->file, place.id);
	return reorder_add(&whole->reorder, place.time_ns,
			   event ? event - whole->file.events.items : 0, record, size);
}

static int apply(void *context, const struct reorder_entry *entry, const uint8_t *bytes)
{
	struct whole *whole = context;
	struct perf_record record;
	int r;

	if (perf_record_decode(&whole->file.events.items[entry->source].layout, bytes, entry->size,
			       &record) != 0)
		return 0;
	r = record.type == PERF_TYPE_SAMPLE ? tape_builder_add(&whole->builder, &record, NULL)
					    : tracker_apply(&whole->tracker, &record);
	return MIN(r, 0);
}

static void read_twice(struct whole *whole)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *stream = NULL;
	struct error error = { 0 };
	int r;

	for (size_t i = 0; i < whole->file.build_ids.count; i++)
		modules_add_build_id(&whole->tracker.modules, whole->file.build_ids.items[i].path,
				     whole->file.build_ids.items[i].id,
				     whole->file.build_ids.items[i].size);
	/* once more as a file that continues itself */
	for (int i = 0; i < 2; i++) {
		whole->offset = 0;
		r = perf_data_read(&whole->file, &stream, take, whole, &error);
		if (r > 0 && !error.text[0])
			abort();
		reorder_flush(&whole->reorder, UINT64_MAX, NULL, apply, whole);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error error = { 0 };
	struct whole whole = { 0 };
	int r;

	if (fd < 0 || file_write_all(fd, data, size) < 0)
		return 0;
	r = perf_data_open(fd, &whole.file, &error);
	if ((r < 0) != (error.text[0] != 0) || r > 0)
		abort();
	whole.file.unpack_here = true;
	if (r < 0 || tape_new(&tape) < 0 || tracker_init(&whole.tracker) < 0 ||
	    tape_builder_init(&whole.builder, &whole.tracker) < 0)
		return 0;
	tape_builder_start(&whole.builder, tape);
	read_twice(&whole);
	reorder_done(&whole.reorder);
	tape_builder_done(&whole.builder);
	tracker_done(&whole.tracker);
	perf_data_done(&whole.file);
	return 0;
}
