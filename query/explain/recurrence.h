/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * How often is a CPU of this host saturated for the same time? The answer comes from the busy
 * seconds of the whole store around the stall (query/sums/spikes.h), so also a job that runs once
 * an hour counts. The recorded time is divided into stretches as long as the stall; the p-value is
 * the share of stretches with a spike at least as long, of the same kind of work.
 */

#include "base/error.h"
#include "query/explain/evidence.h"
#include "query/explain/quiet.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"

struct recurrence_options {
	const struct question *question;
	/* how far to look before and after the stall */
	uint64_t around_ns;
	const struct quiet_spans *excluded;
};

/* Sets `full_chance` and `recurs` of the cores that were full. Returns 0 or a negative errno. */
int recurrence_find(struct store_reader *reader, const struct recurrence_options *options,
		    struct evidence *evidence, struct error *error);
