/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A tape as bytes: format v0, which is for trying out and will be replaced. docs/FORMAT.md describes it.
 */

#include "base/bytes.h"
#include "base/error.h"
#include "tape/tape.h"

#define SEGMENT_MAGIC "PERFTAPE"
#define SEGMENT_VERSION 0

/* What the index keeps of a segment, readable without decoding the rest. */
struct segment_summary {
	uint64_t sequence;
	uint64_t begin_ns; /* wall clock */
	uint64_t end_ns;
	uint64_t samples;
	uint64_t lost;
	char boot_id[40];
};

/*
 * The tape must keep the invariants of a decoded one. 0; -EFBIG when a section or the whole would be larger than limit bytes;
 * -ENOMEM.
 */
int segment_encode(const struct tape *tape, int level, size_t limit, struct buffer *bytes);

/*
 * 0; -EBADMSG when the bytes are damaged, with the section and offset in the text; -EPROTONOSUPPORT when they are of a newer
 * version; -ENOMEM. What comes back keeps the invariants of tape.h, whatever the bytes were.
 */
int segment_decode(const void *data, size_t size, struct tape **ret_tape, struct error *error);

/* The summary lies within so many bytes from the start, whatever follows. */
#define SEGMENT_HEAD 4096

/*
 * Reads the summary out of a file's first bytes. 0; 1 when the summary is sound, but the file of file_bytes is cut short (the
 * text says so); the errors of segment_decode().
 */
int segment_peek(const void *data, size_t size, uint64_t file_bytes,
	struct segment_summary *ret_summary, struct error *error);

/* The summary of a tape in memory. */
void segment_summarize(const struct tape *tape, struct segment_summary *ret_summary);
