/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Copies of user stacks. On each CPU, a second event fires together with the event that takes the
 * samples. The records of this second event also have the user's registers and the top of its
 * stack. The rings of these events are small, and a full ring loses copies. The samples do not
 * depend on the copies.
 *
 * A copy may hold secrets. So the recorder reads a copy in the ring, and a copy never leaves its
 * ring.
 */

#include <stddef.h>
#include <stdint.h>

#include "recorder/perf/perf-events.h"
#include "recorder/perf/ring-view.h"

#define PERF_DUMPS_STACK_BYTES 16384
#define PERF_DUMPS_STACK_MIN 4096
/*
 * The size of a record has 16 bits. The kernel makes the copy smaller if the rest of the record
 * needs space.
 */
#define PERF_DUMPS_STACK_MAX 65528

/*
 * Returns the number of bytes that the kernel copies of each stack; 0: none. Sets *ret_ring_bytes
 * to the size of one ring.
 */
size_t perf_dumps_bytes(const struct perf_events *events, size_t *ret_ring_bytes);

/* Shows each ring to take(), until take() returns a negative value. Returns that value, or 0. */
int perf_dumps_each(const struct perf_events *events,
		    int (*take)(void *context, uint32_t cpu, const struct ring_view *view),
		    void *context);
/* Gives the bytes before `tail` of a CPU's ring back to the kernel. */
void perf_dumps_release(const struct perf_events *events, uint32_t cpu, uint64_t tail);

/*
 * Lets the two events of a CPU fire in the same interrupt again. The two timers move apart when
 * other processes open and close events. Returns 0 or a negative errno.
 */
int perf_dumps_align(const struct perf_events *events, uint32_t cpu);
/*
 * Sets the size of the copies from now on, with rings of a matching size. Copies in the present
 * rings are lost; samples are not. If memory or a limit forbids the new size, the old size stays.
 * Returns 1 if the size changed, 0 if not, or a negative errno.
 */
int perf_dumps_resize(struct perf_events *events, size_t stack_bytes);
