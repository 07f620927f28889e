/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the copy of a sample's stack. The copy is a record of the second event of the CPU, for the
 * same expiry of the timer. Only records of the first event count as samples, so a missing copy
 * does not change the number of samples.
 *
 *   1. A copy and its sample are at most half a period apart, and each copy belongs to at most one
 *      sample.
 *   2. Samples of a CPU come in time order, and so do the copies in its ring. Each copy is read
 *      once.
 *   3. Records are read in place, except a record that wraps around the end of its ring.
 *
 *   show (each ring) -> take (each sample) ... -> hide (each ring)
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "recorder/perf/perf-record.h"
#include "recorder/perf/ring-view.h"

/* The ring of one CPU. */
struct dump_ring {
	/* dump_pairs_show() was called, and dump_pairs_hide() not yet. */
	bool shown;
	struct ring_view view;
	/* The position of the first record that is not passed yet. */
	uint64_t at;
	/*
	 * Pairs from one interrupt, and pairs from two, since dump_pairs_is_apart() last judged
	 * them.
	 */
	uint32_t together, apart;
};

struct dump_pairs {
	/* The layout of the records of the rings. Borrowed. */
	const struct perf_layout *layout;
	uint64_t period_ns;
	/* The rings by CPU. */
	array_of(struct dump_ring) rings;
	/* Copies that did not fit into the rings. */
	uint64_t lost;
};

void dump_pairs_done(struct dump_pairs *pairs);

/* Shows the records of a CPU's ring. Returns 0 or -ENOMEM. */
int dump_pairs_show(struct dump_pairs *pairs, uint32_t cpu, const struct ring_view *view);
/*
 * Finds the copy for a sample of a CPU, and sets *ret_bytes to it: in the ring, or moved into
 * `room` of RING_RECORD_MAX bytes. Returns its size; 0: no copy for this sample. Valid until
 * dump_pairs_hide().
 */
size_t dump_pairs_take(struct dump_pairs *pairs, uint32_t cpu, uint64_t time_ns, uint8_t *room,
		       const uint8_t **ret_bytes);
/*
 * Passes over the copies that are too old for a sample at or after before_ns. Returns the position
 * of the first remaining record; the kernel may overwrite the bytes before it.
 */
uint64_t dump_pairs_hide(struct dump_pairs *pairs, uint32_t cpu, uint64_t before_ns);

/* Notes whether a copy and its sample come from the same interrupt. */
void dump_pairs_note(struct dump_pairs *pairs, uint32_t cpu, bool together);
/*
 * Returns whether the two timers of a CPU have moved apart: two interrupts made more than a tenth
 * of the pairs. Returns false until there are enough pairs; otherwise begins to count anew.
 */
bool dump_pairs_is_apart(struct dump_pairs *pairs, uint32_t cpu);
