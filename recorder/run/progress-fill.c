// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/progress-fill.h"

#include <stdio.h>

#include "base/clock.h"

static void progress_fill_sum(struct progress_dying *to, const struct dead_cgroups_sum *sum,
			      uint64_t at_ns, const struct pipeline *pipeline)
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
	to->since_ns = pipeline_wall(pipeline, sum->since_ns);
	to->oldest_ns = at_ns - MIN(sum->since_ns, at_ns);
}

static void progress_fill_dying(struct recorder_progress *progress, const struct pipeline *pipeline,
				const struct dead_cgroups *dying)
{
	const struct dead_cgroups_report *report = dead_cgroups_report(dying);

	snprintf(progress->dying, sizeof(progress->dying), "%s", dead_cgroups_text(dying));
	if (!report->at_ns)
		return;
	progress->dying_ns = pipeline_wall(pipeline, report->at_ns);
	progress->dying_since_ns = pipeline_wall(pipeline, report->since_ns);
	progress->dying_count = report->count;
	progress->dying_prefixes = report->kinds;
	progress->dying_unsure = report->unsure;
	progress->dying_lost = report->lost;
	progress->cgroup_count =
		MIN(report->kinds, (size_t)MIN(DEAD_CGROUPS_REPORT_MAX, PROGRESS_DYING_MAX));
	for (size_t i = 0; i < progress->cgroup_count; i++)
		progress_fill_sum(&progress->cgroups[i], &report->sums[i], report->at_ns, pipeline);
}

void progress_fill_taken(struct recorder_progress *progress, const struct pipeline *pipeline,
			 const struct trace_setup *setup)
{
	const struct losses_counts *counts = &pipeline->losses.counts;

	progress->samples = pipeline->samples;
	progress->lost = counts->lost;
	progress->lost_sideband = counts->lost_sideband;
	progress->refused = counts->refused;
	snprintf(progress->refused_most, sizeof(progress->refused_most), "%s",
		 cgroup_counts_most(&pipeline->tracker.refused));
	progress->cut = pipeline->builder.cut.total;
	snprintf(progress->cut_most, sizeof(progress->cut_most), "%s",
		 cgroup_counts_most(&pipeline->builder.cut));
	progress->skipped = counts->skipped;
	progress->throttled = counts->throttled;
	progress->limit = pipeline->losses.lowered.count;
	progress->offline = counts->offline;
	progress->offline_now = losses_offline(&pipeline->losses);
	progress->damaged = counts->damaged;
	progress->truncated = counts->truncated;
	progress->callers_unmapped = pipeline->builder.callchains.unmapped;
	trace_setup_fill(setup, counts, progress);
	progress_fill_dying(progress, pipeline, trace_dying(setup->trace));
	progress->end_ns = pipeline_wall(pipeline, pipeline_last_anchor(pipeline)->perf_ns);
}

static void progress_fill_naming(struct recorder_progress *progress,
				 const struct sealer_naming *naming)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	progress->naming[0] = 0;
	progress->naming_ns = 0;
	if (!*naming->file)
		return;
	snprintf(progress->naming, sizeof(progress->naming), "%s (module %zu of %zu)", naming->file,
		 naming->number, naming->count);
	progress->naming_ns = now - MIN(naming->since_ns, now);
}

void progress_fill_stored(struct recorder_progress *progress, const struct sealer_status *status,
			  const struct pipeline *pipeline, uint64_t begun_ns,
			  const struct error *cpu_trouble)
{
	uint64_t drained_ns = begun_ns ? pipeline_last_anchor(pipeline)->perf_ns : 0,
		 spooled_ns = MAX(status->spooled_ns, begun_ns);

	progress->segments = status->segments;
	progress->retained = status->retained;
	progress->removed = status->retained.own;
	progress->removed_bytes = status->retained.own_bytes;
	progress->away = status->away;
	progress->away_bytes = status->away_bytes;
	progress->spool_lag_ns = drained_ns - MIN(drained_ns, spooled_ns);
	progress->bytes = status->bytes;
	progress->waiting = status->waiting;
	progress_fill_naming(progress, &status->naming);
	progress->store_blocked = status->store_blocked;
	progress->unsaved = status->unsaved_samples;
	progress->recovered = status->recovered;
	/* an error of the store counts only while it lasts */
	progress->error =
		status->store_blocked || status->failed ? status->error : (struct error){ 0 };
	progress->warning = *cpu_trouble->text ? *cpu_trouble : status->warning;
}
