// SPDX-License-Identifier: GPL-2.0-only
/* Bounds what processes can make grow: the detail of a tape, and the memory of the tracker. */
#include "base/clock.h"
#include "recorder/pipeline/pipeline-internal.h"

/* Assumed samples per second and CPU, if the event is not a timer. */
#define USUAL_FREQUENCY 97

int pipeline_add_blame(struct pipeline *pipeline)
{
	int r = cgroup_counts_move_to_tape(&pipeline->builder.cut, pipeline->tape, TAPE_TRUNCATED);

	if (r < 0)
		return r;
	return cgroup_counts_move_to_tape(&pipeline->tracker.refused, pipeline->tape, TAPE_REFUSED);
}

/* Adds the records that were refused since the last call to the losses. */
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
	uint64_t samples = MAX(pipeline->cpus.count, (size_t)1) * NSEC_PER_SEC / period_ns;
	int r;

	if (pipeline->options->imported || time_ns < pipeline->budgeted_ns + NSEC_PER_SEC)
		return 0;
	r = pipeline_note_refused(pipeline, time_ns);
	/* A late turn brings the records of several seconds. */
	tape_builder_limit(&pipeline->builder, samples,
			   (time_ns - pipeline->budgeted_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC);
	pipeline->budgeted_ns = time_ns;
	tracker_forget_unused(&pipeline->tracker);
	return r;
}
