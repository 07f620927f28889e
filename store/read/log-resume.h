/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the place in the kernel's log at which a starting recorder resumes, so that it neither
 * repeats nor misses a line. That place is behind the position in the file, behind the lines on the
 * tapes, and behind the lines that became notes.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "store/disk/log-position.h"

/* A line that became a note: its stamp, and a hash of its text. */
struct log_resume_note {
	uint64_t stamp_ns;
	uint32_t hash;
};

/* The state with which a recorder starts. */
struct log_resume {
	/* The position in the log of the given boot, or else of the last boot. */
	struct log_position position;
	/* All numbers of incidents below this one are assigned. */
	uint64_t ids_from;
	/* The notes of lines behind the position. */
	array_of(struct log_resume_note) noted;
};
void log_resume_done(struct log_resume *found);

/* Reads the state from the store. May run beside the store's writer. */
int log_resume_find(const char *store, const char *boot_id, struct log_resume *ret_found,
		    struct error *error);

/* Returns the hash of a line's text for struct log_resume_note. */
uint32_t log_resume_hash(const char *text);
