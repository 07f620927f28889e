/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * How far the kernel's log is in a store, so that whoever records next takes no line of it twice
 * and misses none. A file says so, written now and then; what came behind that is in the lines of
 * the tapes, which are the truth.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

/* A line that became a note: its stamp, and a hash over its text. */
struct log_noted {
	uint64_t stamp_ns;
	uint32_t hash;
};

struct log_position {
	/* "": nothing was ever taken */
	char boot_id[40];
	/* of the last line that was taken or passed over */
	uint64_t sequence;
	/* its stamp */
	uint64_t stamp_ns;
	/* numbers for incidents that were reserved and not given yet */
	uint64_t next_id, below_id;
};

/* What there is for a recorder that begins. */
struct log_found {
	/* of that boot, or of the last one that there was */
	struct log_position position;
	/* all numbers below are given */
	uint64_t ids_from;
	/* lines behind the position that are notes already */
	array_of(struct log_noted) noted;
};
void log_found_done(struct log_found *found);

/* Beside the store's writer. A file that is damaged or not there is none. */
int log_position_find(const char *store, const char *boot_id, struct log_found *ret_found,
		      struct error *error);
/* On the disk when it returns. */
int log_position_keep(const char *store, const struct log_position *position, struct error *error);

uint32_t log_hash(const char *text);
