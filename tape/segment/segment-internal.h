/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What the parts of the segment's codec share: the state of one encoding and of one decoding, and
 * how sections refer to strings. Each part (segment-rows, -dictionary, -trie, -samples) has its
 * encoder and, under it, its decoder.
 */

#include "tape/segment/contents.h"
#include "tape/segment/section.h"
#include "tape/segment/segment.h"

struct encoding {
	const struct tape *tape;
	struct zstd_packer *packer;
	size_t limit;
	/* the sections */
	struct buffer body;
	struct contents contents;

	/* Strings and threads get numbers as they are first referred to; what nothing refers to is
	 * not kept. */
	/* of the tape's strings; 0: none yet, and that of "" */
	uint32_t *string_numbers;
	/* the tape's, in the order of their numbers from 1 */
	uint32_t *strings;
	uint32_t string_count;
	/* of the tape's threads, and one more; 0: none yet */
	uint32_t *thread_numbers;
	uint32_t *threads;
	uint32_t thread_count;
};

int encoding_init(struct encoding *encoding, const struct tape *tape, enum segment_effort effort,
		  size_t limit);
void encoding_done(struct encoding *encoding);

/* A section from begin to end lies in the body, with an entry in the contents. -EFBIG when it is
 * larger than the limit. */
void encoding_begin(struct encoding *encoding, struct section_writer *ret_writer);
int encoding_end(struct encoding *encoding, const struct section_writer *writer, const char *name,
		 uint32_t flags);
/* The whole of a section of one column. None when the column is empty. */
int encoding_column(struct encoding *encoding, const struct buffer *column, const char *name,
		    uint32_t flags);

uint32_t encoding_string(struct encoding *encoding, uint32_t string);
uint32_t encoding_thread(struct encoding *encoding, uint32_t thread);

/*
 * How a column refers to strings: 0 is the empty one; others are 1 + the zigzag difference to the
 * number after the last one in this column that was not the empty one. What is named in the order
 * of its numbers so costs bytes of 1.
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
	/* every byte is to be checked */
	bool whole;
};

uint32_t string_column_take(struct string_column *strings, const struct tape *tape,
			    struct reader *column);

/* The entry of a section; NULL when the segment has none. */
const struct contents_entry *decoding_find(const struct decoding *decoding, const char *name);
/* The stored bytes, checked; the caller frees *ret_stored. */
int decoding_read(const struct decoding *decoding, const struct contents_entry *entry,
		  uint8_t **ret_stored);
/* -EBADMSG, with a text. */
int decoding_bad_value(const struct decoding *decoding, const struct contents_entry *entry);
/*
 * Decodes a section: `decode` takes its columns. What it leaves is damage, and so is a section that
 * unpacks to another size than the contents say. The text of a failure names the section.
 */
int decoding_section(const struct decoding *decoding, const struct contents_entry *entry,
		     int (*decode)(const struct decoding *decoding, struct section_reader *section,
				   void *context),
		     void *context);
