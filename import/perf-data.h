/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A perf.data file: its header and its records. The file may be plain, compressed (`perf record
 * -z`), truncated by a kill, or written to a pipe. The reader checks all sizes and offsets against
 * the file's bytes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/table.h"
#include "recorder/perf/perf-record.h"

struct perf_data_event {
	char name[128];
	struct perf_layout layout;
	uint32_t type;
	uint64_t config;
	/* frequency in Hz, or else the period */
	uint64_t rate;
	bool by_frequency;
	/* clock of the events' times: a clockid_t, or -1 for the perf clock */
	int32_t clock;
};

struct perf_data_build_id {
	char *path;
	uint8_t size;
	uint8_t id[TAPE_BUILD_ID_MAX];
};

struct perf_data_id {
	uint64_t id;
	uint32_t event;
};

struct perf_data {
	/* owned by the caller */
	int fd;
	uint64_t size;
	uint64_t data_offset;
	uint64_t data_end;
	bool pipe;
	/* Unpack records in this process, for tests of the decoders. */
	bool unpack_here;
	/* perf was killed, so nothing follows the data */
	bool unfinished;
	array_of(struct perf_data_event) events;
	/* the ids of all events */
	array_of(struct perf_data_id) ids;
	struct table id_table;
	array_of(struct perf_data_build_id) build_ids;
	char host[128];
	char release[128];
	/* The machine's architecture, as uname(2) names it. */
	char machine[32];
	char perf_version[64];
	/* number of CPUs; 0: the file does not state it */
	uint32_t cpus;
	/* when the events' clock was clock_ns, the wall clock was realtime_ns */
	bool has_clock;
	uint64_t clock_ns;
	uint64_t realtime_ns;
	/* times of the first and last sample; 0: the file does not state them */
	uint64_t first_ns, last_ns;
};

/*
 * Reads header and features; ignores damaged features. In a file from a pipe, events come with the
 * first records, so this function reads these records, too. Returns 0; -EBADMSG when the bytes are
 * not those of a perf.data file; -EPROTONOSUPPORT when the file comes from a big-endian machine; or
 * another negative errno.
 */
int perf_data_open(int fd, struct perf_data *ret_file, struct error *error);
void perf_data_done(struct perf_data *file);

/*
 * Finds the event of an id. In a file with a single event, any id means this event. Returns NULL
 * when the id is unknown.
 */
const struct perf_data_event *perf_data_event(const struct perf_data *file, uint64_t id);
/*
 * Returns the time, the CPU and the event's id of a record. Reads them from the fields that all
 * events have at the same place. perf guarantees these fields: if the layouts differ, perf puts the
 * id in front.
 */
struct perf_record_place perf_data_place(const struct perf_data *file, const uint8_t *record,
					 size_t size);

/* Types of perf's own records that this reader handles. */
enum perf_data_record {
	PERF_DATA_ATTR = 64,
	PERF_DATA_TRACING_DATA = 66,
	PERF_DATA_BUILD_ID = 67,
	PERF_DATA_FINISHED_ROUND = 68,
	PERF_DATA_AUXTRACE = 71,
	PERF_DATA_EVENT_UPDATE = 78,
	PERF_DATA_FEATURE = 80,
	PERF_DATA_COMPRESSED = 81,
	PERF_DATA_COMPRESSED2 = 83,
};

struct unpack_helper;

/*
 * The result of perf_data_read() when the file's compression continues another file than the one
 * that `stream` read last. The records that `give` received may be garbage.
 */
#define PERF_DATA_CONTINUES 2

/*
 * Reads the records. `*stream` is the decompression of the file before (NULL: none), and afterwards
 * the one of this file; the caller frees it. With --switch-output, perf does not restart
 * compression in each file. Such a file can only be read after the file before it.
 *
 * `give` gets each record, unpacked, with the offset in the file up to which perf_data_read() has
 * read. A negative result of `give` ends the reading, and perf_data_read() returns this result.
 * Nothing after a damaged record is readable. Returns 0 after the last record; 1 with an error that
 * says where the file is damaged and how; PERF_DATA_CONTINUES; or a negative errno.
 */
int perf_data_read(struct perf_data *file, struct unpack_helper **stream,
		   int (*give)(void *context, const uint8_t *record, size_t size, uint64_t offset),
		   void *context, struct error *error);
