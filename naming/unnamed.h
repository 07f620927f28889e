/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Records in the tape why frames lack a name, for readers months later. */

#include <stdint.h>

#include "tape/tape.h"

enum unnamed_reason {
	/* The file exists, but has no symbol for the address. */
	UNNAMED_NO_SYMBOLS,
	UNNAMED_GONE,
	UNNAMED_CHANGED,
	UNNAMED_NO_RIGHT,
	UNNAMED_DAMAGED,
	UNNAMED_REMOTE,
	UNNAMED_TIMED_OUT,
	/* The code was generated at run time, and nothing describes it. */
	UNNAMED_GENERATED,
	/* The address is in no known mapping. */
	UNNAMED_UNMAPPED,
	/* The file exceeded its budget of work (symbolizer/work-limit.h), or its names are too
	   long. */
	UNNAMED_TOO_SLOW,
	UNNAMED_TOO_LARGE,
};
#define UNNAMED_REASONS 11

/* Returns the reason for an error of finder_find() or of the symbolizer. */
enum unnamed_reason unnamed_by_error(int r);
/*
 * Counts the unnamed frames of all samples by reason, and sets the fact "unnamed" and those of
 * modules as docs/FORMAT.md describes. `reasons` has a reason for each module. Returns 0 or
 * -ENOMEM.
 */
int unnamed_note(struct tape *tape, const uint8_t *reasons);
