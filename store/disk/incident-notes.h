/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Incidents that no segment has: found in another log afterwards, or while it was recorded, but too
 * late for their segment. And the numbers that all incidents of a store have: each is given once,
 * whoever adds it.
 */

#include <stddef.h>

#include "base/error.h"
#include "store/disk/store-incident.h"

/*
 * So many numbers in a row, from *ret_first on: nobody else is given one of them, and none is below
 * `least`. Beside a recorder, from any process and thread; waits for the disk.
 */
int incident_notes_reserve(const char *store, uint64_t count, uint64_t least, uint64_t *ret_first,
			   struct error *error);

/* Appends some, whose numbers were reserved, and waits until they are on the disk. */
int incident_notes_add(const char *store, const struct store_incident *incidents, size_t count,
		       struct error *error);
