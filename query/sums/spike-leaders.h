/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds which thread had the CPU in a spike, and in which function that thread was. A busy second
 * names its busiest thread and its hottest function, but does not show whether they belong
 * together. If both had most of the time, they belong together. Otherwise the samples of the spike
 * show it.
 */

#include "query/sums/spikes.h"

/*
 * Sets the leaders of the spikes. Reads the samples of at most the first `limit` spikes of the
 * list. Other spikes have a function only if their busy seconds prove it. If a spike is long, reads
 * only one minute in the middle of its part in the question's window. Uses only the window and the
 * hook of the question. Returns 0 or a negative errno.
 */
int spikes_find_leaders(struct store_reader *reader, const struct question *question, size_t limit,
			struct spikes *spikes, struct error *error);
