/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Puts records into time order. Each CPU has a ring of its own, and what happened on two of them at
 * nearly the same time must be applied in the order in which it happened: a process is forked on
 * one and sampled on the other. Records are copied in as they are drained; everything before a
 * moment that no later record can precede is given out.
 *
 * Records of the same time come out in the order in which they went in; those without a time (0)
 * come first.
 */

#include "base/array.h"
#include "base/bytes.h"

struct reorder_entry {
	uint64_t time_ns;
	size_t offset;
	uint32_t size;
	uint32_t source;
};

struct reorder {
	struct buffer bytes;
	array_of(struct reorder_entry) entries;
	array_of(struct reorder_entry) scratch;
};

void reorder_done(struct reorder *timeline);

/* Copies a record in. source is the caller's: where it came from. 0 or -ENOMEM. */
int reorder_add(struct reorder *timeline, uint64_t time_ns, uint32_t source, const void *record,
		size_t size);

/* How many records ahead of the one that is given `expect` is told, at most. */
#define REORDER_AHEAD 8

/*
 * Gives out everything before a moment (UINT64_MAX: all), and forgets it. Each record is told to
 * `expect`, unless that is NULL, in the same order a few records before it is given: bytes that
 * stay where they are until then. A negative answer of `give` ends it and is handed on; what was
 * not given stays, and is told anew the next time. -ENOMEM otherwise.
 */
int reorder_flush(struct reorder *timeline, uint64_t before_ns,
		  void (*expect)(void *context, const struct reorder_entry *entry,
				 const uint8_t *record),
		  int (*give)(void *context, const struct reorder_entry *entry,
			      const uint8_t *record),
		  void *context);
