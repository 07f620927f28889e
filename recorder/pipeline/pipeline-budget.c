// SPDX-License-Identifier: GPL-2.0-only
/* Bounds what processes decide: the detail of a tape, and what the tracker remembers. */
#include "base/clock.h"
#include "recorder/pipeline/pipeline-internal.h"

/* Samples per second and CPU, if no timer samples. */
#define USUAL_FREQUENCY 97

int pipeline_add_blame(struct pipeline *pipeline)
{
	int r = tape_builder_count_cut(&pipeline->builder, &pipeline->cut);

	if (r == 0)
		r = cgroup_counts_move_to_tape(&pipeline->cut, pipeline->tape, TAPE_TRUNCATED);
	if (r == 0)
		r = cgroup_counts_move_to_tape(&pipeline->tracker.refused, pipeline->tape,
					       TAPE_REFUSED);
	return r;
}

/* Counts the refused records since the last call. */
static int pipeline_note_refused(struct pipeline *pipeline, uint64_t time_ns)
{
	uint64_t count = pipeline->tracker.refused.total - pipeline->refused;

	pipeline->refused += count;
	if (!count)
		return 0;
	return losses_refused(&pipeline->losses, pipeline->budgeted_ns, time_ns, count);
}

int pipeline_renew(struct pipeline *pipeline, uint64_t time_ns)
{
	uint64_t period_ns = pipeline->options->period_ns ? pipeline->options->period_ns
							  : NSEC_PER_SEC / USUAL_FREQUENCY;
	int r;

	if (pipeline->options->imported || time_ns < pipeline->budgeted_ns + NSEC_PER_SEC)
		return 0;
	r = pipeline_note_refused(pipeline, time_ns);
	pipeline->budgeted_ns = time_ns;
	tape_builder_limit(&pipeline->builder,
			   MAX(pipeline->cpus.count, (size_t)1) * NSEC_PER_SEC / period_ns);
	tracker_forget_unused(&pipeline->tracker);
	return r < 0 ? r : tape_builder_count_cut(&pipeline->builder, &pipeline->cut);
}
