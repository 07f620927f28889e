/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Records in the tape why frames lack a name, for readers months later. */

#include <stdint.h>

#include "tape/tape.h"

enum unnamed_reason {
	/* The file exists, but lacks a symbol for the address. */
	UNNAMED_NO_SYMBOLS,
	UNNAMED_GONE,
	UNNAMED_CHANGED,
	UNNAMED_NO_RIGHT,
	UNNAMED_DAMAGED,
	UNNAMED_REMOTE,
	UNNAMED_TIMED_OUT,
	/* The code was generated at run time, and nothing describes it. */
	UNNAMED_GENERATED,
	/* The address is outside of all known mappings. */
	UNNAMED_UNMAPPED,
	/*
	 * The file exceeded its budget of work (symbolizer/work-limit.h), or the naming helper took
	 * too long with it, or needed too much memory, or died.
	 */
	UNNAMED_TOO_SLOW,
	UNNAMED_TOO_LARGE,
	UNNAMED_CRASHED,
	/* perftape could not start a naming helper. */
	UNNAMED_NO_HELPER,
	/* The namer has used up the time for the whole tape. */
	UNNAMED_LATE,
	/* A recorder died while it named the tape, so the next recorder does not try again. */
	UNNAMED_FEARED,
};
#define UNNAMED_REASONS 15

/* Returns the reason for a result of finder_find() or of the naming helper. */
enum unnamed_reason unnamed_by_error(int r);
/*
 * Counts the unnamed frames of all samples by reason, and sets the facts "unnamed" of the tape and
 * of modules as docs/FORMAT.md describes. `reasons` has a reason for each module. Returns 0 or
 * -ENOMEM.
 */
int unnamed_note(struct tape *tape, const uint8_t *reasons);
