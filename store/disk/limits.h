/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* How much a store may grow: options of `record` say it, notes keep it, retention applies it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* UINT64_MAX: no limit. */
struct store_limits {
	uint64_t max_age_ns;
	/* of all that is in the store's folder, but the WAL of the index */
	uint64_t max_bytes;
	/* of the file system; 0: no limit */
	uint64_t keep_free_bytes;
	/* the age up to which the segments around an incident stay, if max_age_ns is less */
	uint64_t pin_ns;
	/*
	 * Age is what the wall clock says: for who asks for it and looks at it. Otherwise a wall
	 * clock that went ahead at once, between two segments or since the last one, counts for an
	 * eighth of the limit at most: it may be wrong. Not noted.
	 */
	bool age_by_clock;
	/*
	 * Somebody who knows asks for free space now. Without it an eighth of the store goes for
	 * that in an hour at most: who fills the disk fast would have all of it, and keep on. Not
	 * noted.
	 */
	bool space_at_once;
};

/* 20 GB, 2 GB or 5 % of the file system free (whichever is less), no age; incidents 30 days. */
#define STORE_MAX_BYTES 20000000000ull
#define STORE_KEEP_FREE_BYTES 2000000000ull
#define STORE_PIN_NS (30ull * 24 * 3600 * 1000000000)

/* Of the wall clock, around an incident and its stall: what lies so near is part of its story. */
#define STORE_PIN_AROUND_NS (600ull * 1000000000)

/* The defaults for a store in this folder, which need not be there yet. */
void store_limits_default(const char *path, struct store_limits *ret_limits);

/* How large the file system is on which that store is, or will be. */
int store_disk_bytes(const char *path, uint64_t *ret_bytes, struct error *error);

/* Reads the limits that were noted last. 1; 0 when none were noted, and ret_limits stays as it is.
 */
int store_limits_read(const char *path, struct store_limits *ret_limits, struct error *error);
/* Notes the limits. */
int store_limits_append(const char *path, const struct store_limits *limits, struct error *error);
