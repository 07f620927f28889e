/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Incidents of a log that the store does not contain yet, to add to its notes. */

#include "cli/options/command.h"
#include "cli/window/log-map.h"

struct log_add {
	/* The list owns the texts of its incidents. */
	array_of(struct store_incident) list;
	/* Set after the incidents are written. */
	uint64_t first_id;
	uint64_t known;
	/* Number of incidents whose time is unknown, even to the store. */
	uint64_t timeless;
	/* Number of incidents within text that another program or a user may have chosen. */
	uint64_t quoted;
	/* Number of incidents of which the log does not show that the kernel wrote them. */
	uint64_t doubtful;
};

int log_add_put(struct log_add *log_add, const struct incident *incident,
		const struct log_place *place, const char *source);
void log_add_done(struct log_add *log_add);

/* Writes all incidents, in order, each with its own number. Returns 0 or a negative errno. */
int log_add_write(struct log_add *log_add, const char *store, struct error *error);
void log_add_print_summary(const struct log_add *log_add, const struct invocation *invocation);
