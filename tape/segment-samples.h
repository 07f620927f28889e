/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The samples: a section for each block of time (segment-block.h), and the section "blocks", which says where each lies in time. */

#include "tape/segment-trie.h"

int samples_encode(
	struct encoding *encoding, const struct dictionary *dictionary, const struct trie *trie);

/* Those of the window, at least, in time order. */
int samples_decode(const struct decoding *decoding, const struct functions *functions,
	const struct leaves *leaves);
