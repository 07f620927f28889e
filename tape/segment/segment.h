/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A tape as bytes: docs/FORMAT.md is the norm. A .tape file is one segment, or several one behind
 * the other (a snapshot).
 *
 * Reading is by parts: the summary lies in the first bytes; names, stacks and threads are read
 * whole; samples come in blocks of time, of which only those are read that are asked for; and what
 * a segment's samples add up to is known without reading any.
 */

#include "base/bytes.h"
#include "base/error.h"
#include "tape/tape.h"

#define SEGMENT_MAGIC "PERFTAPE"
#define SEGMENT_VERSION 1

/* What the index keeps of a segment, readable without decoding the rest. */
struct segment_summary {
	uint64_t sequence;
	/* the least and the most of the wall clock that it covers */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t perf_begin_ns;
	uint64_t perf_end_ns;
	uint64_t samples;
	/* of all losses of samples */
	uint64_t lost;
	uint64_t incidents;
	/* of the whole segment: there the next one begins, or the file ends */
	uint64_t bytes;
	char boot_id[40];
};

/* How hard to pack. */
enum segment_effort {
	/* the default: small */
	SEGMENT_USUAL,
	/* under pressure: a tenth larger, in a fraction of the time */
	SEGMENT_HASTY,
};

/*
 * The samples of the tape are in time order. 0; -EFBIG when a section or the whole would be larger
 * than limit bytes; -ENOMEM. Rows that nothing refers to are not kept, and rows get other numbers.
 */
int segment_encode(const struct tape *tape, enum segment_effort effort, size_t limit,
		   struct buffer *bytes);

/* Where a segment's bytes come from: a file, or memory. */
struct segment_input {
	/* Exactly so many bytes from there. 0, -EBADMSG when there are fewer, another negative
	 * errno when they cannot be read. */
	int (*read)(const struct segment_input *input, uint64_t offset, void *to, size_t size);
	/* for read() of memory */
	const void *data;
	/* for one of a file */
	int fd;
	/* where the segment begins */
	uint64_t offset;
	/* up to the end of the file */
	uint64_t size;
};
struct segment_input segment_input_memory(const void *data, size_t size);
struct segment_input segment_input_file(int fd, uint64_t offset, uint64_t size);

enum segment_parts {
	/* those of the window, at least */
	SEGMENT_SAMPLES = 1,
	/* tape.sums, of all samples of the segment */
	SEGMENT_SUMS = 2,
	/* events, lines, incidents, gauges */
	SEGMENT_CONTEXT = 4,
	SEGMENT_LOSSES = 8,
	SEGMENT_ALL = 15,
};

/* What is wanted of it. [from, to) is of the wall clock; 0 and UINT64_MAX are all. Facts and
 * anchors are always read. */
struct segment_want {
	uint64_t from_ns;
	uint64_t to_ns;
	unsigned int parts;
	/* that may decode it side by side; 0 is 1 */
	unsigned int threads;
};

/*
 * 0; -EBADMSG when bytes that are needed are damaged, with the section and offset in the text;
 * -EPROTONOSUPPORT when a newer version wrote it, or a section that cannot be done without is not
 * known, which is named; -ENOMEM; what read() gives. What comes back keeps the invariants of
 * tape.h, whatever the bytes were. With SEGMENT_ALL and the whole window every byte of the segment
 * is checked.
 */
int segment_decode(const struct segment_input *input, const struct segment_want *want,
		   struct tape **ret_tape, struct error *error);

/*
 * Appends the section that says which CPUs were busy in it, as it is stored, for busy_decode()
 * (tape/busy.h): 1; 0 where it has none, as older ones and those without samples. Reads nothing
 * else of it. The errors of segment_decode().
 */
int segment_busy(const struct segment_input *input, struct buffer *bytes, struct error *error);

/* The summary lies within so many bytes from the start, whatever follows. */
#define SEGMENT_HEAD 4096

/*
 * Reads the summary out of a segment's first bytes. 0; 1 when the summary is sound, but the segment
 * reaches beyond file_bytes, the rest of the file (the text says so); the errors of
 * segment_decode().
 */
int segment_peek(const void *data, size_t size, uint64_t file_bytes,
		 struct segment_summary *ret_summary, struct error *error);

/* The summary of a tape in memory; bytes is 0. */
void segment_summarize(const struct tape *tape, struct segment_summary *ret_summary);
