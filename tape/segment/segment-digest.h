/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The section "digest"; docs/FORMAT.md describes it. */

#include "tape/digest.h"
#include "tape/segment/segment-internal.h"
#include "tape/segment/segment-trie.h"

#define SEGMENT_DIGEST_NAME "digest"
#define SEGMENT_OUTLINE_NAME "outline"

/*
 * Makes and encodes the digest of a tape, after its samples and before its strings. Does nothing if
 * a digest cannot represent the samples. If the section would exceed its share of the segment,
 * makes the section of the outline instead.
 */
int digest_encode(struct encoding *encoding, const struct trie *trie);
/*
 * Decodes the section for a tape whose strings and threads are decoded, and checks it. `parts` says
 * which columns are wanted (SEGMENT_DIGEST, SEGMENT_PICTURE, SEGMENT_FRAMES); skips the others. The
 * caller calls digest_done() in either case.
 */
int digest_take(struct section_reader *section, const struct tape *tape, uint64_t samples,
		unsigned int parts, struct digest *digest);
/* Decodes the section into tape->digest, or only checks it. */
int digest_decode(const struct decoding *decoding, const struct contents_entry *entry);
int digest_check(const struct decoding *decoding, const struct contents_entry *entry);
/* Checks the section of the outline, and appends it. `bytes` may be NULL. */
int outline_read(const struct decoding *decoding, const struct contents_entry *entry,
		 struct buffer *bytes);
