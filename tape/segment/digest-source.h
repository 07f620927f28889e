/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Makes the digest of a tape that is being encoded, from the stacks that its trie has. */

#include "tape/digest.h"
#include "tape/segment/segment-trie.h"

/*
 * Makes the digest with the counts of frames. interval_ns is 0 if a digest cannot represent the
 * tape. Returns 0 or -ENOMEM. The caller calls digest_done() in either case.
 */
int digest_source_make(const struct tape *tape, const struct trie *trie, struct digest *digest);
