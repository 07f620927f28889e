/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Where in the kernel's log a recorder that begins goes on, so that it takes no line twice and
 * misses none: behind the position in the file, the lines of the tapes, and the notes.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "store/disk/log-position.h"

/* A line that became a note: its stamp, and a hash over its text. */
struct log_resume_note {
	uint64_t stamp_ns;
	uint32_t hash;
};

/* What there is for a recorder that begins. */
struct log_resume {
	/* of that boot, or of the last one that there was */
	struct log_position position;
	/* all numbers below are given */
	uint64_t ids_from;
	/* lines behind the position that are notes already */
	array_of(struct log_resume_note) noted;
};
void log_resume_done(struct log_resume *found);

/* May run beside the store's writer. */
int log_resume_find(const char *store, const char *boot_id, struct log_resume *ret_found,
		    struct error *error);

/* Of a line's text, for struct log_resume_note. */
uint32_t log_resume_hash(const char *text);
