/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Puts records into time order. Each CPU has its own ring, but the pipeline must apply events of
 * all CPUs in the order in which they happened. For example, a process is forked on one CPU and
 * sampled on another. The drain copies each record into this object. A flush applies all records
 * before a moment; records that come later must not be older than that moment.
 *
 * Records of the same time keep the order in which they were added. Records without a time (0) come
 * first.
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

void reorder_done(struct reorder *reorder);

/* Copies a record. The callbacks of reorder_flush() get the same `source`. Returns 0 or -ENOMEM. */
int reorder_add(struct reorder *reorder, uint64_t time_ns, uint32_t source, const void *record,
		size_t size);

/* Maximum number of records between the prefetch() and the apply() of a record. */
#define REORDER_AHEAD 16

/*
 * Applies all records before before_ns (UINT64_MAX: all), and forgets them. Calls prefetch(),
 * unless it is NULL, for each record in the same order, a few records before its apply(). The bytes
 * stay valid until its apply() returns.
 *
 * Stops when apply() returns a negative value, and returns that value. The remaining records stay,
 * and the next flush prefetches them again. Otherwise returns 0 or -ENOMEM.
 */
int reorder_flush(struct reorder *reorder, uint64_t before_ns,
		  void (*prefetch)(void *context, const struct reorder_entry *entry,
				   const uint8_t *record),
		  int (*apply)(void *context, const struct reorder_entry *entry,
			       const uint8_t *record),
		  void *context);
