/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Incidents that are not in a segment. They were found in another log afterwards, or during the
 * recording but too late for their segment. These functions also assign the numbers of all
 * incidents of a store. They assign each number once, even if several processes add incidents.
 */

#include <stddef.h>

#include "base/error.h"
#include "store/disk/store-incident.h"

/*
 * Reserves `count` consecutive numbers from *ret_first on, which is at least `least`. No other
 * caller gets one of these numbers. Any process and thread may call it, also beside a recorder.
 * Waits for the disk.
 */
int incident_notes_reserve(const char *store, uint64_t count, uint64_t least, uint64_t *ret_first,
			   struct error *error);

/* Appends incidents whose numbers were reserved, and waits until they are on the disk. */
int incident_notes_add(const char *store, const struct store_incident *incidents, size_t count,
		       struct error *error);
