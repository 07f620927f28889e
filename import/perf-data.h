/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A perf.data file: what its header says, and its records one after the other. It may be plain,
 * compressed (`perf record -z`), cut short by a kill, or what perf writes to a pipe. Nothing in it
 * is believed beyond its bytes.
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
	/* the frequency in Hz, or else the period */
	uint64_t rate;
	bool by_frequency;
	/* of the times: a clockid_t, or -1 for the perf clock */
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
	/* the caller's */
	int fd;
	uint64_t size;
	uint64_t data_offset;
	uint64_t data_end;
	bool pipe;
	/* perf was killed: what comes after the data is not there */
	bool unfinished;
	array_of(struct perf_data_event) events;
	/* of all events */
	array_of(struct perf_data_id) ids;
	struct table id_table;
	array_of(struct perf_data_build_id) build_ids;
	char host[128];
	char release[128];
	char perf_version[64];
	/* 0: not said */
	uint32_t cpus;
	/* clock_ns of the events' clock was realtime_ns */
	bool has_clock;
	uint64_t clock_ns;
	uint64_t realtime_ns;
	/* of the samples; 0: not said */
	uint64_t first_ns, last_ns;
};

/*
 * Reads header and features. What a feature claims wrongly is left out. For a pipe's file the
 * events come with the first records, and are there after this too. -EBADMSG with a text when it is
 * no perf.data file; -EPROTONOSUPPORT when it is of a big-endian machine or a folder's.
 */
int perf_data_open(int fd, struct perf_data *ret_file, struct error *error);
void perf_data_done(struct perf_data *file);

/* The event that an id belongs to, where there is more than one; NULL. */
const struct perf_data_event *perf_data_event(const struct perf_data *file, uint64_t id);
/*
 * Where and when a record is, and of which event, by the fields that all events have at the same
 * place: perf sees to that, with an identifier in front where they differ otherwise.
 */
struct perf_record_place perf_data_place(const struct perf_data *file, const uint8_t *record,
					 size_t size);

/* perf's own record types that its readers act on. */
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

struct zstd_stream;

/* The compression goes on from another file than the stream is of. What was given may be anything.
 */
#define PERF_DATA_CONTINUES 2

/*
 * Reads the records. stream is that of the file before (NULL: none) and afterwards this one's, the
 * caller's to free: perf does not start compression anew with the files of --switch-output, so that
 * one can only be read behind the one before.
 *
 * `give` gets each record, unpacked, with the offset in the file up to which it has been read; a
 * negative answer ends it and is handed on. What follows a damaged record is not readable: 1 with a
 * text on where and why, or PERF_FILE_CONTINUES; 0 when all was read.
 */
int perf_data_read(struct perf_data *file, struct zstd_stream **stream,
		   int (*give)(void *context, const uint8_t *record, size_t size, uint64_t offset),
		   void *context, struct error *error);
