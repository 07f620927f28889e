/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Metrics of the host: incidents by kind, device and queue, and saturated single CPUs. */

#include "base/error.h"
#include "cli/status/metrics-text.h"
#include "store/read/store-reader.h"

/* Length of the sealed recording in which to look for saturated CPUs. */
#define METRICS_SATURATED_NS (600 * 1000000000ull)
/*
 * At most this number of combinations of kind, device and queue have their own row; the others
 * share one row per severity.
 */
#define METRICS_INCIDENT_ROWS 100

/*
 * Puts the incidents that the recorder found in the kernel's log: their number since `since_ns`,
 * and the time of the last one in the store. Returns 0 or a negative errno.
 */
int metrics_put_incidents(struct metrics_text *metrics, struct store_reader *reader,
			  uint64_t since_ns, struct error *error);

struct metrics_cpu {
	uint64_t saturated_ns, kernel_ns;
};

/* The saturated CPUs up to the last sealed segment: they change only when a segment is sealed. */
struct metrics_saturated {
	uint64_t to_ns;
	uint64_t segments;
	array_of(struct metrics_cpu) cpus;
};

/*
 * Puts the saturated seconds of each CPU that was saturated. `saturated` has those of the last
 * text, at first none, and gets those of this one. Returns 0 or a negative errno.
 */
int metrics_put_saturated(struct metrics_text *metrics, struct store_reader *reader,
			  uint64_t now_ns, struct metrics_saturated *saturated,
			  struct error *error);
