/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The bytes before the sections of a segment: the header with the summary, and the table of
 * contents. docs/FORMAT.md has the offsets.
 *
 * Invariant of decoded contents: the sections follow each other without a gap, from the end of the
 * table to the end of the segment. So a checksum covers every byte.
 */

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "tape/segment/segment.h"

#define CONTENTS_HEADER 136
#define CONTENTS_ENTRY 40
#define CONTENTS_NAME 8
#define CONTENTS_MAX 65536

/* A reader that does not know the section must refuse the segment. */
#define CONTENTS_INCOMPATIBLE 1u

/*
 * Limits of a whole segment in relation to its bytes, so that a small file does not take much
 * memory. bench/columns measures real segments: at most 0.4 samples and 2.5 unpacked bytes for each
 * byte. The limits are several times that, plus a free part for very regular samples.
 */
#define CONTENTS_SAMPLES_FREE (1u << 20)
#define CONTENTS_SAMPLES_A_BYTE 4
#define CONTENTS_RAW_FREE (16u << 20)
#define CONTENTS_RAW_A_BYTE 16
/*
 * Each string counts as this number of unpacked bytes more, because readers keep tables of strings.
 */
#define CONTENTS_STRING_BYTES 32

struct contents_entry {
	char name[CONTENTS_NAME + 1];
	uint32_t flags;
	/* Covers the stored bytes. */
	uint32_t crc;
	uint64_t offset;
	uint64_t stored;
	/* The size of the unpacked columns. */
	uint64_t raw;
};

struct contents {
	struct segment_summary summary;
	array_of(struct contents_entry) entries;
};

void contents_done(struct contents *contents);

/*
 * Returns whether the samples, the unpacked columns and the number of strings are within the
 * limits.
 */
bool contents_fit(const struct contents *contents, uint64_t strings);

/*
 * Appends the header and the table. Sets the sections' offsets and the summary's size. The caller
 * appends the sections.
 */
void contents_encode(struct contents *contents, struct buffer *bytes);

/*
 * Decodes the header from the first CONTENTS_HEADER bytes. Returns 0, or -EBADMSG or
 * -EPROTONOSUPPORT with a text.
 */
int contents_decode_header(const void *data, size_t size, struct segment_summary *ret_summary,
			   uint32_t *ret_sections, struct error *error);

/* Reads header and table from the input. The caller calls contents_done() also on failure. */
int contents_read(struct contents *contents, const struct segment_input *input,
		  struct error *error);
