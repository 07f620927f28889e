/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A tape as bytes; docs/FORMAT.md specifies them. A .tape file is one segment, or several in a row
 * (a snapshot).
 *
 * Readers can decode parts. The summary is in the first bytes. A reader decodes all names, stacks
 * and threads. Samples are in blocks of time, and a reader decodes only the blocks of its window.
 * The sums over all samples do not need the samples.
 */

#include "base/bytes.h"
#include "base/error.h"
#include "tape/tape.h"

#define SEGMENT_MAGIC "PERFTAPE"
#define SEGMENT_VERSION 1

/* The description that the index keeps of a segment, readable without decoding the rest. */
struct segment_summary {
	uint64_t sequence;
	/* The earliest and the latest time of the wall clock that the segment covers. */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t perf_begin_ns;
	uint64_t perf_end_ns;
	uint64_t samples;
	/* All lost samples. */
	uint64_t lost;
	uint64_t incidents;
	/* The size of the whole segment. At its end the next one begins, or the file ends. */
	uint64_t bytes;
	char boot_id[40];
};

/* How hard to pack. */
enum segment_effort {
	/* The default: small. */
	SEGMENT_USUAL,
	/* Under pressure: a tenth larger, in a fraction of the time. */
	SEGMENT_HASTY,
};

/*
 * Encodes a tape, whose samples must be in time order. Omits rows without references and numbers
 * the other rows anew. Returns 0, -EFBIG if a section or the whole would exceed `limit` bytes, or
 * -ENOMEM.
 */
int segment_encode(const struct tape *tape, enum segment_effort effort, size_t limit,
		   struct buffer *bytes);

/* The source of a segment's bytes: a file, or memory. */
struct segment_input {
	/*
	 * Reads exactly `size` bytes. Returns 0, -EBADMSG if there are fewer, or another negative
	 * errno if reading fails.
	 */
	int (*read)(const struct segment_input *input, uint64_t offset, void *to, size_t size);
	/* Used by read() for memory. */
	const void *data;
	/* Used by read() for a file. */
	int fd;
	/* The begin of the segment. */
	uint64_t offset;
	/* The size up to the end of the file. */
	uint64_t size;
};
struct segment_input segment_input_memory(const void *data, size_t size);
struct segment_input segment_input_file(int fd, uint64_t offset, uint64_t size);

enum segment_parts {
	/* The samples of the window, and maybe others near it. */
	SEGMENT_SAMPLES = 1,
	/* tape.sums, over all samples of the segment. */
	SEGMENT_SUMS = 2,
	/* Events, lines, incidents, gauges, what was usual. */
	SEGMENT_CONTEXT = 4,
	SEGMENT_LOSSES = 8,
	SEGMENT_ALL = 15,
	/* tape.digest, if the segment has one; it is NULL otherwise. */
	SEGMENT_DIGEST = 16,
	/* With SEGMENT_DIGEST: its picture of fractions of a second, too. */
	SEGMENT_PICTURE = 32,
	/* tape.digest with no more than its numbers of samples and frames. */
	SEGMENT_FRAMES = 64,
};

/*
 * The parts that a reader wants. [from, to) is of the wall clock; 0 and UINT64_MAX mean everything.
 * segment_decode() always decodes facts and anchors.
 */
struct segment_want {
	uint64_t from_ns;
	uint64_t to_ns;
	unsigned int parts;
	/* How many threads may decode; 0 means 1. */
	unsigned int threads;
};

/*
 * Decodes the wanted parts of a segment. *ret_tape keeps the invariants of tape.h, whatever the
 * bytes are. With SEGMENT_ALL and the whole window, the function checks every byte.
 *
 * Returns 0; -EBADMSG if needed bytes are damaged, with the section and offset in the text;
 * -EPROTONOSUPPORT if a newer version wrote the segment or a required section, which the text
 * names; -ENOMEM; or the error of read().
 */
int segment_decode(const struct segment_input *input, const struct segment_want *want,
		   struct tape **ret_tape, struct error *error);

/*
 * Appends the stored bytes of the section of busy CPUs, for busy_decode() (tape/busy.h). Returns 1,
 * or 0 if the segment lacks the section, like old segments and segments without samples. Does not
 * read other sections. Returns the errors of segment_decode().
 */
int segment_busy(const struct segment_input *input, struct buffer *bytes, struct error *error);
/*
 * Appends the outline of the segment, for outline_decode() (tape/outline.h). Makes it of the
 * digest, or reads the section that a segment too small for a digest has. Returns 1, or 0 if the
 * segment lacks both. Returns the errors of segment_decode().
 */
int segment_outline(const struct segment_input *input, struct buffer *bytes, struct error *error);

/*
 * Returns about how many bytes of memory it takes to decode all parts of a segment and to work on
 * them; 0 if its table of contents cannot be read.
 */
uint64_t segment_memory(const struct segment_input *input);

/* The summary is within this number of bytes from the start. */
#define SEGMENT_HEAD 4096

/*
 * Reads the summary from a segment's first bytes. Returns 0; 1 with a text if the summary is sound,
 * but the segment is longer than `file_bytes`, the rest of the file; or the errors of
 * segment_decode().
 */
int segment_peek(const void *data, size_t size, uint64_t file_bytes,
		 struct segment_summary *ret_summary, struct error *error);

/* Computes the summary of a tape in memory; `bytes` is 0. */
void segment_summarize(const struct tape *tape, struct segment_summary *ret_summary);
