/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What the recorder's parts count, as it is told (recorder/run/progress.h). */

#include "recorder/pipeline/pipeline.h"
#include "recorder/run/progress.h"
#include "recorder/run/trace-setup.h"

/* What was taken and what not, up to the last anchor. */
void progress_fill_taken(struct recorder_progress *progress, const struct pipeline *assembler,
			 const struct trace_setup *tracing);

/* What became of it; begun_ns is where the recording began, 0: it did not. What is wrong with a
 * CPU, if anything is, comes before the sealer's trouble. */
void progress_fill_stored(struct recorder_progress *progress, const struct sealer_status *status,
			  const struct pipeline *assembler, uint64_t begun_ns,
			  const struct error *cpu_trouble);
