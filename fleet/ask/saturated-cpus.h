/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stretches in which a single CPU of a host had no idle time, in the samples that hosts shipped in
 * full. The other times of a fleet are sums, which do not tell one CPU from another.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "fleet/ask/ask-rows.h"
#include "fleet/server.h"

struct saturated_run {
	const char *host;
	uint64_t cpu;
	uint64_t from_s;
	uint64_t seconds;
	/* The thread name of the most seconds. */
	const char *comm;
};

struct saturated_question {
	/* Only hosts with this value of a label; "": all. */
	const char *label;
	const char *value;
	uint64_t from_ns;
	uint64_t to_ns;
	/* Only runs of at least this length. */
	uint64_t min_s;
};

struct saturated_cpus {
	/* The longest comes first. */
	array_of(struct saturated_run) list;
	/* Hosts with any sample in the window, and the time that these samples cover. */
	uint64_t hosts;
	uint64_t held_s;
	struct ask_rows rows, held;
};

/* Returns 0 or a negative errno with a text. Call saturated_cpus_done() in either case. */
int saturated_cpus_ask(struct server *server, const struct saturated_question *question,
		       struct saturated_cpus *cpus, struct error *error);
void saturated_cpus_done(struct saturated_cpus *cpus);
