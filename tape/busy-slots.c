// SPDX-License-Identifier: GPL-2.0-only
#include "tape/busy-slots.h"

#include "base/clock.h"

#define HALF_NS (NSEC_PER_SEC / 2)

static uint64_t busy_slots_end_of(const struct busy_slot *slot)
{
	return slot->perf_ns + slot->length_ns;
}

struct busy_slot busy_slot_at(const struct tape *tape, const struct busy_slot *before,
			      uint64_t perf_ns)
{
	uint64_t floor_ns = before ? busy_slots_end_of(before) : tape->begin_ns;
	uint64_t into_ns = tape_to_realtime(tape, perf_ns, NULL) % NSEC_PER_SEC;
	uint64_t left_ns = NSEC_PER_SEC - into_ns;
	uint64_t begin_ns = perf_ns - MIN(into_ns, perf_ns - floor_ns);
	uint64_t end_ns;

	if (!before && perf_ns + left_ns - tape->begin_ns < HALF_NS)
		left_ns += NSEC_PER_SEC;
	if (!before && begin_ns - tape->begin_ns < HALF_NS)
		begin_ns = tape->begin_ns;
	end_ns = tape->end_ns - perf_ns < left_ns + HALF_NS ? tape->end_ns : perf_ns + left_ns;
	return (struct busy_slot){
		.perf_ns = begin_ns,
		.length_ns = end_ns - begin_ns,
		.realtime_ns = tape_to_realtime(tape, begin_ns, NULL),
	};
}

/* Returns whether the tape does not cover the time of the loss. */
static bool is_gap(const struct tape_loss *loss)
{
	return loss->kind == TAPE_LOSS_GAP ||
	       (loss->kind == TAPE_LOSS_DAMAGED && loss->cpu == TAPE_ALL_CPUS);
}

uint64_t busy_slot_covered_ns(const struct tape *tape, const struct busy_slot *slot)
{
	uint64_t covered_ns = slot->length_ns;

	for (size_t i = 0; i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];
		uint64_t from_ns = MAX(loss->from_ns, slot->perf_ns);
		uint64_t to_ns = MIN(loss->to_ns, busy_slots_end_of(slot));

		if (is_gap(loss) && from_ns < to_ns)
			covered_ns -= MIN(covered_ns, to_ns - from_ns);
	}
	return covered_ns;
}
