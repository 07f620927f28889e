/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The records of a ring, read in place. The kernel writes at `head`; it does not overwrite the
 * bytes from `tail` on until the reader releases them. Positions count bytes since the ring was
 * mapped.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_view {
	const uint8_t *bytes;
	/* A power of two. */
	size_t size;
	uint64_t tail;
	uint64_t head;
};

/* The largest record: its size has 16 bits. */
#define RING_RECORD_MAX 65536

/* Returns the size of the record at a position; 0 if no whole record is there. */
size_t ring_view_size(const struct ring_view *view, uint64_t at);
/*
 * Returns the first `size` bytes of the record at a position. Returns them in place, or in `room`
 * if the record wraps around the end of the ring. At least `size` bytes must lie before the head.
 */
const uint8_t *ring_view_bytes(const struct ring_view *view, uint64_t at, size_t size,
			       uint8_t *room);
