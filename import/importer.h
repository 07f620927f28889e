/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Imports one perf.data file: its records go the same way as those of the rings. Wall clock: see
 * import_clock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "import/perf-data.h"
#include "store/write/store-writer.h"

/* How the events' clock of a file is tied to the wall clock, best first. */
enum import_clock_source {
	/* --end or --clock-offset */
	IMPORT_CLOCK_GIVEN,
	/* the file's own clock data (perf record -k) */
	IMPORT_CLOCK_FILE,
	/* a file of the same boot that was imported with it */
	IMPORT_CLOCK_NEIGHBOUR,
	/* perf's --timestamp-filename: the moment at which the file ended */
	IMPORT_CLOCK_END_NAME,
	/* a name with a date: the moment at which the recording began */
	IMPORT_CLOCK_BEGIN_NAME,
	/* the file was last written when the recording ended */
	IMPORT_CLOCK_MTIME,
};

struct import_clock {
	enum import_clock_source source;
	/* wall clock - events' clock */
	int64_t offset_ns;
	uint64_t error_ns;
};

const char *import_clock_text(enum import_clock_source source);

/* A file that has been looked into: what it holds, from when to when. */
struct import_file {
	char *path;
	int fd;
	/* what was packed around it ended too early */
	bool cut;
	/* its compression goes on from the file before it */
	bool continues;
	struct perf_data perf;
	/* of its contents */
	char id[40];
	/* the one whose samples are taken */
	const struct perf_data_event *event;
	/* of its samples, on the events' clock; 0: it has none */
	uint64_t first_ns, last_ns;
	struct import_clock clock;
	/* the caller's: when the first of those that it continues begins, on the wall clock */
	int64_t chain_ns;
};

struct import_options {
	/* NULL: the sampling one */
	const char *event;
	/* of the samples; 0: not given */
	uint64_t end_ns;
	bool has_offset;
	int64_t offset_ns;
	/* for what has to be unpacked */
	const char *folder;
	const char *debug_dir;
	uint64_t segment_ns;
	const char *version;
	void (*progress)(void *context, uint64_t done, uint64_t size);
	void *context;
};

/*
 * Opens a file and finds its times, for which it may have to be read once. -EBADMSG and the like
 * with a text that begins with the path. One that continues has no times yet: import_file_follow().
 */
int import_file_open(const char *path, const struct import_options *options,
		     struct import_file *ret_file, struct error *error);
void import_file_done(struct import_file *file);
/*
 * Finds the times of one that continues. stream is that of the file before, when that one went
 * through here too, and afterwards this one's. -EBADMSG with a text when `before` (NULL: none) is
 * not the one that it goes on from.
 */
int import_file_follow(struct import_file *file, struct import_file *before,
		       const struct import_options *options, struct zstd_stream **stream,
		       struct error *error);
/* Only reads it, for the stream that the next one goes on from. 0, also when it is damaged; or an
 * errno. */
int import_file_pass(struct import_file *file, struct zstd_stream **stream);

struct import_result {
	uint64_t samples;
	uint64_t lost;
	uint64_t damaged;
	/* callchains, at what is no address */
	uint64_t cut;
	uint64_t segments;
	uint64_t bytes;
	/* why not all of it could be read; "" when it could */
	char note[1024];
};

/*
 * Takes the file's samples into the store. stream is that of the file before (perf-file.h). 0, also
 * when the file is damaged at some point: what came before is in the store.
 */
int import_file_run(struct import_file *file, const struct import_options *options,
		    struct store_writer *writer, struct zstd_stream **stream,
		    struct import_result *ret_result, struct error *error);

/* A time in a file's name: 1 when it has some, else 0. *ret_ends tells which of the two it is.
 * Local time, unless it ends in Z. */
int import_name_time(const char *path, uint64_t *ret_realtime_ns, uint64_t *ret_error_ns,
		     bool *ret_ends);
