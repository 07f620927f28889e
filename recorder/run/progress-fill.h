/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Fills the counts of the recorder's parts into the recorder's status (recorder/run/progress.h). */

#include "recorder/pipeline/pipeline.h"
#include "recorder/run/progress.h"
#include "recorder/run/trace-setup.h"

/* Fills in the samples that were taken and lost, up to the last anchor. */
void progress_fill_taken(struct recorder_progress *progress, const struct pipeline *pipeline,
			 const struct trace_setup *setup);

/*
 * Fills in the segments that were stored. `begun_ns` is the begin of the recording; 0: it has not
 * begun. `cpu_trouble` replaces a warning of the sealer.
 */
void progress_fill_stored(struct recorder_progress *progress, const struct sealer_status *status,
			  const struct pipeline *pipeline, uint64_t begun_ns,
			  const struct error *cpu_trouble);
