// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/progress-fill.h"

#include <stdio.h>

static void progress_fill_sum(struct progress_dying *to, const struct dead_cgroups_sum *sum,
			      uint64_t at_ns, const struct pipeline *assembler)
{
	*to = (struct progress_dying){
		.count = sum->count,
		.made_by_pid = sum->made_by.pid,
		.removed_by_pid = sum->removed_by.pid,
	};
	snprintf(to->prefix, sizeof(to->prefix), "%s", sum->prefix);
	snprintf(to->made_by, sizeof(to->made_by), "%s", sum->made_by.comm);
	snprintf(to->removed_by, sizeof(to->removed_by), "%s", sum->removed_by.comm);
	if (!sum->since_ns)
		return;
	to->since_ns = pipeline_wall(assembler, sum->since_ns);
	to->oldest_ns = at_ns - MIN(sum->since_ns, at_ns);
}

static void progress_fill_dying(struct recorder_progress *progress,
				const struct pipeline *assembler, const struct dead_cgroups *dying)
{
	const struct dead_cgroups_told *told = dead_cgroups_told(dying);

	snprintf(progress->dying, sizeof(progress->dying), "%s", dead_cgroups_text(dying));
	if (!told->at_ns)
		return;
	progress->dying_ns = pipeline_wall(assembler, told->at_ns);
	progress->dying_since_ns = pipeline_wall(assembler, told->since_ns);
	progress->dying_count = told->count;
	progress->dying_prefixes = told->kinds;
	progress->dying_unsure = told->unsure;
	progress->dying_lost = told->lost;
	progress->cgroup_count =
		MIN(told->kinds, (size_t)MIN(DEAD_CGROUPS_TOLD_MAX, PROGRESS_DYING_MAX));
	for (size_t i = 0; i < progress->cgroup_count; i++)
		progress_fill_sum(&progress->cgroups[i], &told->sums[i], told->at_ns, assembler);
}

void progress_fill_taken(struct recorder_progress *progress, const struct pipeline *assembler,
			 const struct trace_setup *tracing)
{
	const struct losses_counts *counts = &assembler->losses.counts;

	progress->samples = assembler->samples;
	progress->lost = counts->lost;
	progress->lost_sideband = counts->lost_sideband;
	progress->skipped = counts->missed;
	progress->throttled = counts->throttled;
	progress->limit = assembler->losses.lowered.count;
	progress->offline = counts->offline;
	progress->offline_now = losses_offline(&assembler->losses);
	progress->damaged = counts->damaged;
	progress->truncated = counts->cut;
	trace_setup_tell(tracing, counts, progress);
	progress_fill_dying(progress, assembler, trace_dying(tracing->trace));
	progress->end_ns = pipeline_wall(assembler, pipeline_last_anchor(assembler)->perf_ns);
}

void progress_fill_stored(struct recorder_progress *progress, const struct sealer_status *status,
			  const struct pipeline *assembler, uint64_t begun_ns,
			  const struct error *cpu_trouble)
{
	uint64_t drained_ns = begun_ns ? pipeline_last_anchor(assembler)->perf_ns : 0,
		 spooled_ns = MAX(status->spooled_ns, begun_ns);

	progress->segments = status->segments;
	progress->removed = status->removed;
	progress->removed_bytes = status->removed_bytes;
	progress->away = status->away;
	progress->away_bytes = status->away_bytes;
	progress->spool_lag_ns = drained_ns - MIN(drained_ns, spooled_ns);
	progress->bytes = status->bytes;
	progress->waiting = status->waiting;
	progress->store_blocked = status->store_blocked;
	progress->unsaved = status->unsaved_samples;
	progress->recovered = status->recovered;
	/* what was once in the way of the store is not for ever */
	progress->error =
		status->store_blocked || status->failed ? status->error : (struct error){ 0 };
	progress->warning = *cpu_trouble->text ? *cpu_trouble : status->warning;
}
