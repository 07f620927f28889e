/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* One line of reason for each spike of a list, from the spike alone and its neighbours. */

#include "query/sums/spikes.h"

/*
 * Sets `reason` of each spike. Call it after spikes_find_leaders(), because the function of the
 * busiest thread decides most reasons. Returns 0 or -ENOMEM.
 */
int spike_reasons_set(struct spikes *spikes);
