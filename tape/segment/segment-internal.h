/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Shared by the parts of the segment's codec: the state of one encoding and of one decoding, and
 * the references of sections to strings. Each part (segment-rows, -dictionary, -trie, -samples) has
 * its encoder and, below it, its decoder.
 */

#include "tape/segment/contents.h"
#include "tape/segment/section.h"
#include "tape/segment/segment.h"

struct encoding {
	const struct tape *tape;
	struct zstd_packer *packer;
	size_t limit;
	/* The sections. */
	struct buffer body;
	struct contents contents;

	/* Strings and threads get numbers at their first use. Unused ones are not stored. */
	/*
	 * Indexed by string of the tape: its number, or 0 without a number so far. The number of ""
	 * is 0.
	 */
	uint32_t *string_numbers;
	/* The tape's strings in the order of their numbers, from 1. */
	uint32_t *strings;
	uint32_t string_count;
	/* Indexed by thread of the tape: its number + 1, or 0 without a number so far. */
	uint32_t *thread_numbers;
	uint32_t *threads;
	uint32_t thread_count;
};

int encoding_init(struct encoding *encoding, const struct tape *tape, enum segment_effort effort,
		  size_t limit);
void encoding_done(struct encoding *encoding);

/*
 * Begins and ends a section. encoding_end() moves the section into the body and adds it to the
 * contents. Returns 0, or -EFBIG if the section exceeds the limit.
 */
void encoding_begin(struct encoding *encoding, struct section_writer *ret_writer);
int encoding_end(struct encoding *encoding, const struct section_writer *writer, const char *name,
		 uint32_t flags);
/* Encodes a section of one column. Does nothing for an empty column. */
int encoding_column(struct encoding *encoding, const struct buffer *column, const char *name,
		    uint32_t flags);

uint32_t encoding_string(struct encoding *encoding, uint32_t string);
uint32_t encoding_thread(struct encoding *encoding, uint32_t thread);

/*
 * A column's references to strings. 0 is the empty string. Others are 1 plus the zigzag difference
 * to the expected number: the one after the last non-empty string of this column. So strings in the
 * order of their numbers become bytes of 1.
 */
struct string_column {
	uint32_t last;
};

void string_column_put(struct string_column *strings, struct encoding *encoding,
		       struct buffer *column, uint32_t string);

struct decoding {
	const struct segment_input *input;
	const struct segment_want *want;
	struct contents contents;
	struct zstd_unpacker *unpacker;
	struct tape *tape;
	struct error *error;
	/* Check every byte. */
	bool whole;
};

uint32_t string_column_take(struct string_column *strings, const struct tape *tape,
			    struct reader *column);

/* Returns the entry of a section, or NULL if the segment does not have it. */
const struct contents_entry *decoding_find(const struct decoding *decoding, const char *name);
/* Reads the stored bytes and checks their checksum. The caller frees *ret_stored. */
int decoding_read(const struct decoding *decoding, const struct contents_entry *entry,
		  uint8_t **ret_stored);
/* Returns -EBADMSG and sets a text. */
int decoding_bad_value(const struct decoding *decoding, const struct contents_entry *entry);
/*
 * Decodes a section: decode() reads its columns. Bytes that decode() does not read are damage, and
 * so is an unpacked size that differs from the contents. The text of an error names the section.
 */
int decoding_section(const struct decoding *decoding, const struct contents_entry *entry,
		     int (*decode)(const struct decoding *decoding, struct section_reader *section,
				   void *context),
		     void *context);
