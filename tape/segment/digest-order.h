/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The order of a digest's rows in a segment, which is that of the segment's own numbers. */

#include "tape/digest.h"
#include "tape/segment/segment-internal.h"

struct digest_order {
	/* Indexed by the segment's number of a thread: the row of the digest + 1. */
	uint32_t *rows;
	/* Indexed by string of the tape: the number of the comm, plus 1. */
	uint32_t *comms;
	/* The functions in the order in which they are stored, and the place of each. */
	uint32_t *functions, *places;
};

/*
 * Finds the order, and sorts the digest's cores by CPU and comm. Call it after encoding the
 * samples. Returns 0 or -ENOMEM. The caller calls digest_order_done() in either case.
 */
int digest_order_make(struct digest *digest, struct encoding *encoding, struct digest_order *order);
void digest_order_done(struct digest_order *order);
