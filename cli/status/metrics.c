// SPDX-License-Identifier: GPL-2.0-only
#include "cli/status/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/status/metrics-found.h"
#include "cli/status/store-status.h"
#include "cli/version.h"

struct metrics_kept {
	struct store_listing *listing;
	struct metrics_saturated saturated;
};

static void metrics_put_health(struct metrics_text *metrics, const struct store_status *status)
{
	const struct recorder_text *recorder = &status->recorder;
	bool runs = recorder->running, stalled = recorder_text_is_stalled(recorder, status->now_ns);

	metrics_family(metrics, "perftape_build_info", METRICS_GAUGE,
		       "The version of the program that wrote these metrics.");
	metrics_label(metrics, "version", PERFTAPE_VERSION);
	metrics_number(metrics, 1);
	if (*status->facts.host) {
		metrics_family(metrics, "perftape_host_info", METRICS_GAUGE,
			       "The host that the store is about.");
		metrics_label(metrics, "host", status->facts.host);
		metrics_number(metrics, 1);
	}
	metrics_put_seconds(metrics, "perftape_metrics_timestamp_seconds", METRICS_GAUGE,
			    status->now_ns, "Time at which these metrics were made.");
	metrics_put_number(metrics, "perftape_recording", METRICS_GAUGE, runs && !stalled,
			   "1 while a recorder samples this host into the store.");
	metrics_put_number(metrics, "perftape_stalled", METRICS_GAUGE, stalled,
			   "1 if the recorder runs, but has not reported for seconds.");
	if (status->totals.unsealed_end_ns || status->totals.end_ns)
		metrics_put_seconds(metrics, "perftape_reach_timestamp_seconds", METRICS_GAUGE,
				    MAX(status->totals.unsealed_end_ns, status->totals.end_ns),
				    "Time up to which samples are on the disk.");
}

static void metrics_put_recorder(struct metrics_text *metrics, const struct store_status *status)
{
	const struct recorder_progress *progress = &status->recorder.progress;

	metrics_put_seconds(metrics, "perftape_recorder_start_timestamp_seconds", METRICS_GAUGE,
			    status->since_ns, "Time at which the recorder started.");
	metrics_put_number(metrics, "perftape_cpus", METRICS_GAUGE, progress->cpus,
			   "CPUs that are sampled.");
	metrics_put_number(metrics, "perftape_cpus_offline", METRICS_GAUGE, progress->offline_now,
			   "CPUs that are offline.");
	metrics_put_number(metrics, "perftape_sampling_hertz", METRICS_GAUGE, progress->frequency,
			   "Samples per second and CPU that were asked for.");
	metrics_put_number(metrics, "perftape_store_blocked", METRICS_GAUGE,
			   progress->store_blocked,
			   "1 while the store cannot be written and samples wait in memory.");
	metrics_put_seconds(metrics, "perftape_disk_lag_seconds", METRICS_GAUGE,
			    progress->spool_lag_ns,
			    "How far the disk is behind the samples that were taken.");
	metrics_put_number(metrics, "perftape_waiting_segments", METRICS_GAUGE, progress->waiting,
			   "Segments that are not sealed yet.");
	metrics_put_seconds(metrics, "perftape_naming_seconds", METRICS_GAUGE, progress->naming_ns,
			    "Time for which the names of one file have been searched.");
	metrics_put_seconds(metrics, "perftape_drain_late_max_seconds", METRICS_GAUGE,
			    progress->late_peak_ns,
			    "The latest drain of the rings since the start.");
	metrics_family(metrics, "perftape_stalled_seconds", METRICS_COUNTER,
		       "How long the recorder did not run, by the cause.");
	metrics_label(metrics, "cause", "signal");
	metrics_seconds(metrics, progress->stalled_signal_ns);
	metrics_label(metrics, "cause", "cpu");
	metrics_seconds(metrics, progress->stalled_cpu_ns);
}

/* Puts a sample for each absent feature, with the feature's name as in `status`. */
static void metrics_put_lacks(struct metrics_text *metrics,
			      const struct recorder_progress *progress)
{
	const char *at = progress->lacks;
	char name[64];

	metrics_family(metrics, "perftape_lacks", METRICS_GAUGE,
		       "1 for each kernel feature or right that is absent.");
	while (*at) {
		size_t size = strcspn(at, ","), kept = MIN(size, sizeof(name) - 1);

		memcpy(name, at, kept);
		name[kept] = 0;
		metrics_label(metrics, "feature", name);
		metrics_number(metrics, 1);
		at += size + (at[size] == ',');
	}
}

static void metrics_put_samples(struct metrics_text *metrics,
				const struct recorder_progress *progress)
{
	const struct {
		const char *family;
		uint64_t value;
		const char *help;
	} rows[] = {
		{ "perftape_samples", progress->samples, "Samples that were taken." },
		{ "perftape_lost_samples", progress->lost,
		  "Samples that the kernel had no room for." },
		{ "perftape_skipped_samples", progress->skipped,
		  "Samples that were due on a busy CPU and never came." },
		{ "perftape_unsaved_samples", progress->unsaved,
		  "Samples that were taken and could not be stored." },
		{ "perftape_throttled", progress->throttled,
		  "Times that the kernel throttled the sampling of a CPU." },
		{ "perftape_lost_sideband_records", progress->lost_sideband,
		  "Records of names and mappings that the kernel had no room for." },
		{ "perftape_refused_sideband_records", progress->refused,
		  "Records of names and mappings beyond the share of their process." },
		{ "perftape_truncated_callchains", progress->truncated,
		  "Samples whose callchains were cut short." },
		{ "perftape_damaged_records", progress->damaged,
		  "Records that could not be decoded." },
		{ "perftape_lost_trace_events", progress->lost_events,
		  "Trace events beyond the limit." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		metrics_put_number(metrics, rows[i].family, METRICS_COUNTER, rows[i].value,
				   rows[i].help);
}

static void metrics_put_cost(struct metrics_text *metrics, const struct recorder_progress *progress)
{
	metrics_put_seconds(metrics, "perftape_own_cpu_seconds", METRICS_COUNTER, progress->cpu_ns,
			    "CPU time of the recorder.");
	metrics_put_seconds(metrics, "perftape_sample_cost_seconds", METRICS_GAUGE,
			    progress->sampling_ns,
			    "Estimated CPU time of the kernel for one sample.");
	metrics_put_number(metrics, "perftape_memory_bytes", METRICS_GAUGE, progress->memory_bytes,
			   "Memory of the recorder without files.");
	metrics_put_number(metrics, "perftape_resident_memory_bytes", METRICS_GAUGE,
			   progress->resident_bytes, "Memory of the recorder with files.");
	metrics_put_number(metrics, "perftape_rings_bytes", METRICS_GAUGE, progress->rings_bytes,
			   "Memory of the kernel for the rings.");
	metrics_put_number(metrics, "perftape_ring_peak_bytes", METRICS_GAUGE,
			   progress->ring_peak_bytes, "The most that a ring of samples held.");
}

static void metrics_put_dying(struct metrics_text *metrics,
			      const struct recorder_progress *progress)
{
	uint64_t oldest_ns = 0;

	if (!progress->dying_ns)
		return;
	metrics_put_number(metrics, "perftape_dying_cgroups", METRICS_GAUGE, progress->dying_count,
			   "Memory cgroups that were removed and are not gone.");
	for (size_t i = 0; i < progress->cgroup_count; i++)
		oldest_ns = MAX(oldest_ns, progress->cgroups[i].oldest_ns);
	metrics_put_seconds(metrics, "perftape_dying_cgroups_oldest_seconds", METRICS_GAUGE,
			    oldest_ns, "How long the oldest of them has been dying.");
	metrics_family(metrics, "perftape_dying_cgroups_by_path", METRICS_GAUGE,
		       "The most frequent kinds of their paths, and who made them.");
	for (size_t i = 0; i < progress->cgroup_count; i++) {
		metrics_label(metrics, "path", progress->cgroups[i].prefix);
		metrics_label(metrics, "made_by", progress->cgroups[i].made_by);
		metrics_number(metrics, progress->cgroups[i].count);
	}
}

static void metrics_put_store(struct metrics_text *metrics, const struct store_status *status)
{
	const struct store_totals *totals = &status->totals;
	const struct {
		const char *family;
		uint64_t value;
		const char *help;
	} rows[] = {
		{ "perftape_store_segments", totals->segments, "Segments in the store." },
		{ "perftape_store_bytes", totals->bytes, "Size of the store." },
		{ "perftape_store_segment_bytes", totals->segment_bytes, "Size of its segments." },
		{ "perftape_store_spool_bytes", totals->spool_bytes,
		  "Size of the samples that are not sealed yet." },
		{ "perftape_store_free_bytes", totals->free_bytes,
		  "Free space of its file system." },
		{ "perftape_store_day_bytes", store_status_bytes_a_day(status),
		  "Bytes that a day takes, at the rate of the last day." },
		{ "perftape_store_damaged", totals->damaged,
		  "Segments that cannot be read, and damaged notes." },
		{ "perftape_store_vanished_segments", totals->vanished,
		  "Segments whose files disappeared." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		metrics_put_number(metrics, rows[i].family, METRICS_GAUGE, rows[i].value,
				   rows[i].help);
	if (status->limits.max_bytes != UINT64_MAX)
		metrics_put_number(metrics, "perftape_store_max_bytes", METRICS_GAUGE,
				   status->limits.max_bytes, "Limit of the size of the store.");
	if (totals->begin_ns)
		metrics_put_seconds(metrics, "perftape_store_begin_timestamp_seconds",
				    METRICS_GAUGE, totals->begin_ns,
				    "Time of the oldest sample in the store.");
}

struct metrics_kept *metrics_kept_new(void)
{
	struct metrics_kept *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return NULL;
	kept->listing = store_listing_new();
	return kept->listing ? kept : metrics_kept_free(kept);
}

struct metrics_kept *metrics_kept_free(struct metrics_kept *kept)
{
	if (!kept)
		return NULL;
	store_listing_free(kept->listing);
	array_done(&kept->saturated.cpus);
	free(kept);
	return NULL;
}

static int metrics_put_all(struct metrics_text *metrics, struct metrics_kept *kept,
			   struct store_reader *reader, struct error *error)
{
	_cleanup_(store_status_done) struct store_status status = { 0 };
	int r = store_status_read_figures(reader, &status, error);

	if (r < 0)
		return r;
	metrics_put_health(metrics, &status);
	metrics_put_store(metrics, &status);
	if (status.recorder.running) {
		metrics_put_recorder(metrics, &status);
		metrics_put_lacks(metrics, &status.recorder.progress);
		metrics_put_samples(metrics, &status.recorder.progress);
		metrics_put_cost(metrics, &status.recorder.progress);
		metrics_put_dying(metrics, &status.recorder.progress);
	}
	r = metrics_put_incidents(metrics, reader, status.since_ns, error);
	if (r < 0)
		return r;
	return metrics_put_saturated(metrics, reader, status.now_ns, &kept->saturated, error);
}

int metrics_put(struct metrics_kept *kept, struct store_reader *reader, enum metrics_form form,
		struct buffer *text, struct error *error)
{
	struct metrics_text metrics = { .text = text, .form = form };
	int r;

	store_reader_use_listing(reader, kept->listing);
	r = metrics_put_all(&metrics, kept, reader, error);
	metrics_end(&metrics);
	store_reader_use_listing(reader, NULL);
	return r < 0 ? r : buffer_failed(text) ? -ENOMEM : 0;
}
