/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads an answer of the unpacking helper (unpacker/unpack-server.h) in pieces of any size. An
 * attacker may have taken over the helper, so these bytes may be anything.
 */

#include <stddef.h>
#include <stdint.h>

/* Start with a zeroed one for each answer. */
struct unpack_answer {
	/* The bytes of the next i32 that have come so far. */
	uint8_t number[4];
	size_t number_size;
	/* Bytes of the part that have not come yet. */
	size_t left;
	/* The result of the decoder, if the answer has ended. */
	int32_t result;
};

/*
 * Reads the next bytes. give() receives the unpacked bytes among them. Returns 1 if the answer has
 * ended with these bytes, 0 if more must come, -EPROTO if the answer is invalid or goes on behind
 * its end, or the negative result of give(). Call it no more after a result other than 0.
 */
int unpack_answer_take(struct unpack_answer *answer, const uint8_t *bytes, size_t size,
		       int (*give)(void *context, const uint8_t *data, size_t size), void *context);
