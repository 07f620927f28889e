/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Segments for one answer, one after the other, and what became of each: what cannot be read is a
 * gap with a reason in the coverage, and the answer goes on. loader_read() may be called from
 * several threads at once, all else from one at a time.
 */

#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/window/filter.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"
#include "tape/tape.h"

/* What every answer is asked for with. The filter and the context are borrowed. */
struct question {
	struct window window;
	const struct filter *filter;
	/* Gives names to the frames of a tape that is not sealed yet. May be NULL. 0 or -ENOMEM. */
	int (*name)(void *context, struct tape *tape);
	void *context;
	/* that may read segments of a selection side by side; 0 is 1 */
	unsigned int threads;
};

struct loader {
	struct store_reader *reader;
	struct question question;
	/* that overlap the window, by their begin */
	struct store_segments segments;
	struct coverage coverage;
	struct coverage_parts parts;
	/* that may decode one segment; 0 is 1 */
	unsigned int threads;
};

/* What reading a segment came to. */
struct loaded {
	/* NULL: it could not be read */
	struct tape *tape;
	/* then why */
	int failed;
	struct error error;
};

/* Finds the segments. */
int loader_open(struct store_reader *reader, const struct question *question,
		struct loader *ret_loader, struct error *error);
void loader_done(struct loader *loader);

/* Reads parts of a segment (enum segment_parts) from a moment on; what comes of it is for
 * loader_take(). */
void loader_read(const struct loader *loader, const struct store_segment *segment, uint64_t from_ns,
		 unsigned int parts, struct loaded *ret_loaded);
/*
 * Names it and counts it in the coverage. 1 with the tape, which is the caller's; 0 when it could
 * not be read; negative when that is not the segment's fault.
 */
int loader_take(struct loader *loader, const struct store_segment *segment, struct loaded *loaded,
		struct tape **ret_tape, struct error *error);
/* What of a window is gone, and whether retention removed it. What is missing counts as damage, for
 * as far as it has not come back. 0 or a negative errno. */
int loader_add_gone(struct store_reader *reader, const struct window *window,
		    struct coverage_parts *parts, struct error *error);
/*
 * Beyond the spool's end, what is recorded has not come there yet: no gap in the recording. What of
 * a window is so, from the segments that overlap it. 0 or -ENOMEM.
 */
int loader_add_unwritten(const struct store_reader *reader, const struct store_segments *segments,
			 const struct window *window, struct coverage_parts *parts);
/* What of a window the last recorder could not store, as it said. 0 or -ENOMEM. */
int loader_add_left(const struct store_reader *reader, const struct window *window,
		    struct coverage *coverage, struct coverage_parts *parts);
/* Each tape behind the window that tells of losses, which may have begun within it; that is all
 * there is of it. 0, or what `see` said. */
int loader_each_later(struct loader *loader, int (*see)(void *context, const struct tape *tape),
		      void *context, struct error *error);
/* When all segments were taken: makes the coverage. */
int loader_finish(struct loader *loader, struct error *error);
