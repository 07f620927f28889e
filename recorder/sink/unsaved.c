// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/sink/unsaved.h"

#include <stdio.h>

void unsaved_add(struct tape_loss *unsaved, uint64_t from_ns, uint64_t to_ns, uint64_t samples)
{
	if (!unsaved->count)
		*unsaved =
			(struct tape_loss){ TAPE_LOSS_UNSAVED, TAPE_ALL_CPUS, from_ns, to_ns, 0 };
	/* The times may come in any order: a tape at work may be dropped after later tapes. */
	unsaved->from_ns = MIN(unsaved->from_ns, from_ns);
	unsaved->to_ns = MAX(unsaved->to_ns, to_ns);
	unsaved->count += MAX(samples, 1u);
}

void unsaved_add_tape(struct tape_loss *unsaved, const struct tape *tape, uint64_t spooled_ns)
{
	uint64_t from_ns = MAX(tape->begin_ns, spooled_ns), samples = 0;

	for (size_t i = 0; i < tape->samples.count; i++)
		samples += tape->samples.items[i].time_ns >= from_ns;
	if (from_ns < tape->end_ns)
		unsaved_add(unsaved, from_ns, tape->end_ns, samples);
}

void unsaved_write_note(const struct tape_loss *unsaved, uint64_t wall_from_ns, uint64_t wall_to_ns,
			const char *ended, struct store_writer *writer)
{
	struct store_unsaved left = {
		.from_ns = wall_from_ns,
		.to_ns = wall_to_ns,
		.perf_from_ns = unsaved->from_ns,
		.perf_to_ns = unsaved->to_ns,
		.samples = unsaved->count,
	};

	if (!unsaved->count || !wall_from_ns)
		return;
	snprintf(left.ended, sizeof(left.ended), "%s", ended);
	/* If this write also fails, the spool stays without a note. */
	(void)!store_writer_note_unsaved(writer, &left);
}

struct tape_loss unsaved_read_note(const struct store_writer *writer, const char *boot_id)
{
	struct tape_loss unsaved = { 0 };
	struct store_unsaved left;

	if (store_writer_unsaved(writer, &left) == 1 && strcmp(left.boot_id, boot_id) == 0)
		unsaved_add(&unsaved, left.perf_from_ns, left.perf_to_ns, left.samples);
	return unsaved;
}
