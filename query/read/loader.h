/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Loads the segments of one answer one after the other and records what became of each. A segment
 * that cannot be read becomes a gap with a reason in the coverage, and the answer continues.
 * Several threads may call loader_read() at once; all other functions need one thread at a time.
 */

#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/window/filter.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"
#include "tape/tape.h"

/*
 * The limit of the memory for segments that are read at the same time. Without it, a store that an
 * attacker made could fill our memory.
 */
#define LOADER_MEMORY_BYTES (112ull << 20)

/* The common part of all queries. The caller keeps the filter and `context` alive. */
struct question {
	struct window window;
	const struct filter *filter;
	/* Names the frames of a tape that is not sealed yet. May be NULL. Returns 0 or -ENOMEM. */
	int (*name)(void *context, struct tape *tape);
	void *context;
	/* threads that may read segments of a selection in parallel; 0 means 1 */
	unsigned int threads;
};

struct loader {
	struct store_reader *reader;
	struct question question;
	/* segments that overlap the window, sorted by their begin */
	struct store_segments segments;
	struct coverage coverage;
	struct coverage_parts parts;
	/* threads that may decode one segment; 0 means 1 */
	unsigned int threads;
};

/* The result of reading one segment. */
struct loaded {
	/* NULL: the segment could not be read */
	struct tape *tape;
	/* without a tape: the errno and its message */
	int failed;
	struct error error;
};

/* Finds the segments. Returns 0, or a negative errno with a message. */
int loader_open(struct store_reader *reader, const struct question *question,
		struct loader *ret_loader, struct error *error);
void loader_done(struct loader *loader);

/*
 * Reads parts of a segment (enum segment_parts) from a moment on. Pass the result to loader_take().
 */
void loader_read(const struct loader *loader, const struct store_segment *segment, uint64_t from_ns,
		 unsigned int parts, struct loaded *ret_loaded);
/*
 * Names the tape's frames and counts the tape in the coverage. Returns 1 with the tape, which the
 * caller frees, or 0 if the segment could not be read. Returns a negative errno for errors that are
 * not the segment's fault.
 */
int loader_take(struct loader *loader, const struct store_segment *segment, struct loaded *loaded,
		struct tape **ret_tape, struct error *error);
/*
 * Adds the parts of the window that retention removed or whose files vanished. A vanished file
 * counts as damage unless the file has come back. Returns 0 or a negative errno.
 */
int loader_add_removed(struct store_reader *reader, const struct window *window,
		       struct coverage_parts *parts, struct error *error);
/*
 * Adds the time after the end of the spool, which the recorder has not written yet. This time is
 * not a gap in the recording. `segments` are those that overlap the window. Returns 0 or -ENOMEM.
 */
int loader_add_unwritten(const struct store_reader *reader, const struct store_segments *segments,
			 const struct window *window, struct coverage_parts *parts);
/*
 * Adds the samples of the window that the last recorder reported as unsaved. Returns 0 or -ENOMEM.
 */
int loader_add_unsaved(const struct store_reader *reader, const struct window *window,
		       struct coverage *coverage, struct coverage_parts *parts);
/*
 * Calls `see` with each tape after the window that reports losses, because these losses may have
 * begun in the window. These tapes contain nothing else. Returns 0, or the result of `see`.
 */
int loader_each_tape_after(struct loader *loader,
			   int (*see)(void *context, const struct tape *tape), void *context,
			   struct error *error);
/* Completes the coverage after all segments were taken. Returns 0 or a negative errno. */
int loader_finish(struct loader *loader, struct error *error);
