// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/report.h"

void report_taken(struct recorder_progress *progress, const struct assembler *assembler,
	const struct tracing *tracing)
{
	const struct losses_counts *counts = &assembler->losses.counts;

	progress->samples = assembler->samples;
	progress->lost = counts->lost;
	progress->lost_sideband = counts->lost_sideband;
	progress->missed = counts->missed;
	progress->throttled = counts->throttled;
	progress->limit = assembler->losses.lowered.count;
	progress->offline = counts->offline;
	progress->offline_now = losses_offline(&assembler->losses);
	progress->damaged = counts->damaged;
	progress->cut = counts->cut;
	tracing_tell(tracing, counts, progress);
	progress->end_ns = assembler_wall(assembler, assembler_last_anchor(assembler)->perf_ns);
}

void report_stored(struct recorder_progress *progress, const struct sealer_status *status,
	const struct assembler *assembler, uint64_t begun_ns, const struct error *cpu_trouble)
{
	uint64_t drained_ns = begun_ns ? assembler_last_anchor(assembler)->perf_ns : 0,
		 spooled_ns = MAX(status->spooled_ns, begun_ns);

	progress->segments = status->segments;
	progress->removed = status->removed;
	progress->removed_bytes = status->removed_bytes;
	progress->spool_lag_ns = drained_ns - MIN(drained_ns, spooled_ns);
	progress->bytes = status->bytes;
	progress->waiting = status->waiting;
	progress->stalled = status->stalled;
	progress->given_up = status->given_up;
	progress->recovered = status->recovered;
	progress->error = status->error;
	progress->warning = *cpu_trouble->text ? *cpu_trouble : status->warning;
}
