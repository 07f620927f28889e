// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/recorded.h"

#include "base/cleanup.h"
#include "query/coverage/gap-causes.h"
#include "query/read/loader.h"

struct window recorded_window(const struct store_segments *segments)
{
	struct window window = { 0 };

	for (size_t i = 0; i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];

		window.from_ns = i ? MIN(window.from_ns, segment->begin_ns) : segment->begin_ns;
		window.to_ns = MAX(window.to_ns, segment->end_ns);
	}
	return window;
}

/* Reads a segment's losses and adds them to the coverage, as all other answers do. */
static int recorded_add_segment(struct store_reader *reader, const struct store_segment *segment,
				const struct window *window, const struct recorded_losses *losses,
				struct coverage *coverage, struct coverage_parts *parts,
				struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_LOSSES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error own = { 0 };
	int r = store_reader_load(reader, segment, &want, &tape, &own);

	if (r == 0)
		return coverage_add_tape(coverage, parts, window, losses->cpus, tape);
	if (error_is_exhaustion(r)) {
		if (error)
			*error = own;
		return r;
	}
	coverage->damaged++;
	if (losses->known) {
		coverage->lost_samples += segment->lost;
		return coverage_add_recorded(parts, segment->begin_ns, segment->end_ns);
	}
	return coverage_add_unread(parts, segment->begin_ns, segment->end_ns, own.text);
}

int recorded_cover(struct store_reader *reader, const struct store_segments *segments,
		   const struct window *window, const struct recorded_losses *losses,
		   struct coverage *coverage, struct error *error)
{
	_cleanup_(coverage_parts_done) struct coverage_parts parts = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];

		if (losses && !*segment->damage) {
			r = recorded_add_segment(reader, segment, window, losses, coverage, &parts,
						 error);
			continue;
		}
		coverage->lost_samples += segment->lost;
		coverage->damaged += *segment->damage != 0;
		r = *segment->damage
			    ? coverage_add_unread(&parts, segment->begin_ns, segment->end_ns,
						  segment->damage)
			    : coverage_add_recorded(&parts, segment->begin_ns, segment->end_ns);
	}
	if (r < 0)
		return r;
	r = loader_add_removed(reader, window, &parts, error);
	if (r < 0)
		return r;
	r = loader_add_unwritten(reader, segments, window, &parts);
	if (r < 0)
		return r;
	r = loader_add_unsaved(reader, window, coverage, &parts);
	if (r < 0)
		return r;
	r = coverage_finish(coverage, &parts, window);
	return r < 0 ? r : gap_causes_explain(reader, segments, window, coverage, error);
}

uint64_t recorded_clock_error(const struct tape *tape)
{
	uint64_t most_ns = 0, error_ns = 0;

	tape_to_realtime(tape, tape->begin_ns, &most_ns);
	for (size_t i = 0; i < tape->anchors.count; i++) {
		uint64_t at_ns = tape->anchors.items[i].perf_ns;

		/*
		 * The error is constant between two anchors. If the clock was set between them, the
		 * error is larger there than at either anchor.
		 */
		if (at_ns >= tape->end_ns)
			break;
		tape_to_realtime(tape, MAX(at_ns, tape->begin_ns) + 1, &error_ns);
		most_ns = MAX(most_ns, error_ns);
	}
	return most_ns;
}
