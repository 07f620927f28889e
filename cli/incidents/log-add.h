/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Incidents of a foreign log, on their way into the store's notes. What the store knows already stays out. */

#include "cli/options/command.h"
#include "cli/window/log-map.h"

struct additions {
	array_of(struct store_incident) list; /* with texts of their own */
	uint64_t first_id; /* once they are written */
	uint64_t known;
	uint64_t timeless; /* of which not even a store knows the time */
};

int additions_put(struct additions *additions, const struct incident *incident,
	const struct log_place *place, const char *source);
void additions_done(struct additions *additions);

/* All of them, in order, each with a number of its own. */
int additions_write(struct additions *additions, const char *store, struct error *error);
void additions_tell(const struct additions *additions, const struct invocation *invocation);
