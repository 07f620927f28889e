/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Makes the outbox of one round: the part of the store that the server lacks. */

#include "base/error.h"
#include "fleet/ship-state.h"
#include "fleet/exporter.h"
#include "fleet/stack-names.h"

/* All samples of the time around an incident go to the server. */
#define SHIP_BEFORE_NS (30 * 1000000000ull)
#define SHIP_AFTER_NS (5 * 1000000000ull)

struct ship_round {
	const char *store;
	const char *folder;
	const char *host;
	const char *root;
	enum exporter_samples samples;
	const struct ship_state *before;
	struct sent_stacks *sent;
	uint64_t now_ns;
};

/* Returns 1 with an outbox, 0 if the server lacks nothing, or a negative errno. */
int ship_round_make(const struct ship_round *round, struct error *error);
