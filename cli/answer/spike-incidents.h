/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds the incidents that belong to spikes, such as the kernel's complaint about a stalled CPU. */

#include "base/array.h"
#include "query/sums/spikes.h"

/* For each spike a text such as "17 ena.tx_stall", or NULL. */
struct spike_incidents {
	array_of(char *) list;
};

/*
 * Finds the worst incident for each spike. The incident, or its stall, began during the spike. A
 * message may come a few seconds after the spike. Returns 0 or a negative errno.
 */
int spike_incidents_find(struct store_reader *reader, const struct spikes *spikes,
			 struct spike_incidents *ret_incidents, struct error *error);
void spike_incidents_done(struct spike_incidents *incidents);
