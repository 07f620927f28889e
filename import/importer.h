/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Imports one perf.data file: its records go through the same pipeline as those of the rings. The
 * wall clock comes from import_clock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "import/perf-data.h"
#include "store/write/store-writer.h"

/* What ties the events' clock of a file to the wall clock, best first. */
enum import_clock_source {
	/* --end or --clock-offset */
	IMPORT_CLOCK_GIVEN,
	/* the file's own clock data (perf record -k) */
	IMPORT_CLOCK_FILE,
	/* another file of the same boot in the same import */
	IMPORT_CLOCK_NEIGHBOUR,
	/* perf's --timestamp-filename: the moment at which the file ended */
	IMPORT_CLOCK_END_NAME,
	/* a name with a date: the moment at which the recording began */
	IMPORT_CLOCK_BEGIN_NAME,
	/* the file's last change: the moment at which the recording ended */
	IMPORT_CLOCK_MTIME,
};

struct import_clock {
	enum import_clock_source source;
	/* wall clock minus events' clock */
	int64_t offset_ns;
	uint64_t error_ns;
};

const char *import_clock_text(enum import_clock_source source);

/* An open file: its contents and its times. */
struct import_file {
	char *path;
	int fd;
	/* the unpacker found that the packed file ends too early */
	bool truncated;
	/* this file's compression continues that of the file before it */
	bool continues;
	struct perf_data perf;
	/* identifies the file's contents */
	char id[40];
	/* the event whose samples the import takes */
	const struct perf_data_event *event;
	/* times of the event's samples, on the events' clock; 0: none */
	uint64_t first_ns, last_ns;
	struct import_clock clock;
	/* for the caller: when the first file of its chain begins, on the wall clock */
	int64_t chain_ns;
};

struct import_options {
	/* NULL: the first event with samples */
	const char *event;
	/* time of the last sample; 0: not given */
	uint64_t end_ns;
	bool has_offset;
	int64_t offset_ns;
	/* the folder for unpacked files */
	const char *folder;
	const char *debug_dir;
	uint64_t segment_ns;
	const char *version;
	void (*progress)(void *context, uint64_t done, uint64_t size);
	void *context;
};

/*
 * Opens a file and finds its times, for which it may read the whole file. The times of a file that
 * continues another one are not known yet: call import_file_follow(). Returns 0 or a negative
 * errno; the error begins with the path.
 */
int import_file_open(const char *path, const struct import_options *options,
		     struct import_file *ret_file, struct error *error);
void import_file_done(struct import_file *file);
/*
 * Finds the times of a file that continues `before`. If `before` continues a file, too, `*stream`
 * must still be the result of the call for `before`. Afterwards `*stream` is the stream of `file`.
 * Returns -EBADMSG with an error when `file` does not continue `before` (NULL: none).
 */
int import_file_follow(struct import_file *file, struct import_file *before,
		       const struct import_options *options, struct unpack_helper **stream,
		       struct error *error);
/*
 * Reads the file only to make the stream that the next file continues. Returns 0, also when the
 * file is damaged, or a negative errno.
 */
int import_file_pass(struct import_file *file, struct unpack_helper **stream);

struct import_result {
	uint64_t samples;
	uint64_t lost;
	uint64_t damaged;
	/* callchains that were truncated at a value that is not an address */
	uint64_t truncated;
	uint64_t segments;
	uint64_t bytes;
	/* the reason why a part of the file could not be read, or "" */
	char note[1024];
};

/*
 * Imports the file's samples into the store. `stream` is that of the file before (perf-data.h).
 * Returns 0, also when the file is damaged at some point: the store then has everything before this
 * point.
 */
int import_file_run(struct import_file *file, const struct import_options *options,
		    struct store_writer *writer, struct unpack_helper **stream,
		    struct import_result *ret_result, struct error *error);

/*
 * Reads a time from a file's name. Returns 1, or 0 when the name does not contain a time. *ret_ends
 * says whether the time is that of the recording's end. The name has local time, unless the time
 * ends in Z.
 */
int import_name_time(const char *path, uint64_t *ret_realtime_ns, uint64_t *ret_error_ns,
		     bool *ret_ends);
