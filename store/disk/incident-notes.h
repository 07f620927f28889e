/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Incidents that are not in a segment. A person added them later from another log, or the recorder
 * found them too late for their segment. These functions also assign the numbers of all incidents
 * of a store: each number once, even if several processes add incidents.
 */

#include <stddef.h>

#include "base/error.h"
#include "store/disk/store-incident.h"

/*
 * Reserves `count` consecutive numbers from *ret_first on, which is at least `least`. Other callers
 * do not get any of these numbers. Any process and thread may call this function, also beside a
 * recorder. Waits for the disk.
 */
int incident_notes_reserve(const char *store, uint64_t count, uint64_t least, uint64_t *ret_first,
			   struct error *error);

/* Appends incidents with reserved numbers, and waits until they are on the disk. */
int incident_notes_add(const char *store, const struct store_incident *incidents, size_t count,
		       struct error *error);
