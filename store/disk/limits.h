/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The limits of a store's size and age. Options of `record` set them, notes keep them, and
 * retention applies them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* UINT64_MAX: no limit. */
struct store_limits {
	uint64_t max_age_ns;
	/* The size of all files in the store's folder, except the WAL of the index. */
	uint64_t max_bytes;
	/* Free space of the file system; 0: no limit. */
	uint64_t keep_free_bytes;
	/* The age up to which segments around an incident stay, if max_age_ns is less. */
	uint64_t pin_ns;
	/*
	 * Compute the age from the wall clock alone. Set for a removal that a person requests.
	 * Otherwise a jump of the wall clock ages segments by at most 1/8 of the limit, because the
	 * jump may be wrong. The notes do not keep this member.
	 */
	bool age_by_clock;
	/*
	 * Free the space at once. Set for a removal that a person requests. Otherwise retention
	 * deletes at most 1/8 of the store per hour to free space. Without that bound, a process
	 * that fills the disk could make retention delete everything. The notes do not keep this
	 * member.
	 */
	bool space_at_once;
};

/*
 * Defaults: 20 GB; 2 GB or 5 % of the file system free, whichever is less; no age limit; 30 days
 * for incidents.
 */
#define STORE_MAX_BYTES 20000000000ull
#define STORE_KEEP_FREE_BYTES 2000000000ull
#define STORE_PIN_NS (30ull * 24 * 3600 * 1000000000)

/* The time before and after an incident and its stall that a pin covers, on the wall clock. */
#define STORE_PIN_AROUND_NS (600ull * 1000000000)

/* Returns the defaults for a store in this folder; the folder may not exist yet. */
void store_limits_default(const char *path, struct store_limits *ret_limits);

/* Returns the size of the file system that has, or will have, the store. */
int store_disk_bytes(const char *path, uint64_t *ret_bytes, struct error *error);

/*
 * Reads the limits of the last note of limits. Returns 1, or 0 without such a note; then
 * *ret_limits stays unchanged.
 */
int store_limits_read(const char *path, struct store_limits *ret_limits, struct error *error);
/* Appends the limits to the notes. */
int store_limits_append(const char *path, const struct store_limits *limits, struct error *error);
