/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Incidents of a foreign log, on their way into the store's notes. What the store knows already
 * stays out. */

#include "cli/options/command.h"
#include "cli/window/log-map.h"

struct log_add {
	/* with texts of their own */
	array_of(struct store_incident) list;
	/* once they are written */
	uint64_t first_id;
	uint64_t known;
	/* of which not even a store knows the time */
	uint64_t timeless;
};

int log_add_put(struct log_add *additions, const struct incident *incident,
		const struct log_place *place, const char *source);
void log_add_done(struct log_add *additions);

/* All of them, in order, each with a number of its own. */
int log_add_write(struct log_add *additions, const char *store, struct error *error);
void log_add_tell(const struct log_add *additions, const struct invocation *invocation);
