/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Divides the recording of a host into strata: segments of like load and time of day. The controls
 * of an incident come from its own stratum.
 *
 * The nearest segments would be closer, but the test would be wrong. An incident at a high load has
 * only neighbours with less load, and nobody takes it for a control. So incidents would exceed
 * their controls without any cause. Strata do not depend on where incidents are, so any segment of
 * a stratum could as well have the incident.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These differences are equally bad: hours of the day, and part of the machine's CPUs. */
#define STRATA_HOURS_ALIKE 2.0
#define STRATA_LOAD_ALIKE 0.04

struct strata_segment {
	/* 0 to 24, of the day */
	double hour;
	/* NAN: unknown */
	double load;
};

/* The segments of a stratum are order[firsts[i]] to order[firsts[i + 1] - 1]. */
struct strata {
	uint32_t *order, *firsts;
	size_t count;
	/* for each segment its stratum */
	uint32_t *of;
};

/*
 * Divides segments into strata of at least `least` segments each, or into one. The same segments
 * always give the same strata. Returns 0 or -ENOMEM. The caller calls strata_done() in either case.
 */
int strata_make(const struct strata_segment *segments, size_t count, size_t least,
		struct strata *strata);
void strata_done(struct strata *strata);
