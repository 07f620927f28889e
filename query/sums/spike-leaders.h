/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds which thread had the CPU in a spike, and in which function that thread was. A busy second
 * contains its busiest thread and its hottest function, but not whether they belong together. If
 * both had most of the time, they do; otherwise the samples of the spike show it.
 */

#include "query/sums/spikes.h"

/*
 * Sets the leaders of the spikes. Reads the samples of the first `limit` spikes of the list at
 * most. Other spikes have a function only if their busy seconds prove it. In a long spike, it reads
 * one minute in the middle. Uses only the hook of the question. Returns 0 or a negative errno.
 */
int spikes_find_leaders(struct store_reader *reader, const struct question *question, size_t limit,
			struct spikes *spikes, struct error *error);
