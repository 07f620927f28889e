/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Why frames have no name: told in the tape, so that who asks months later need not guess. */

#include <stdint.h>

#include "tape/tape.h"

enum unnamed_reason {
	/* the file was there, and has no name for it */
	UNNAMED_NO_SYMBOLS,
	UNNAMED_GONE,
	UNNAMED_CHANGED,
	UNNAMED_NO_RIGHT,
	UNNAMED_DAMAGED,
	UNNAMED_REMOTE,
	UNNAMED_TIMED_OUT,
	/* at run time, and nothing tells of it */
	UNNAMED_GENERATED,
	/* in no mapping that is known */
	UNNAMED_UNMAPPED,
};
#define UNNAMED_REASONS 9

/* Of an answer of finder_find(). */
enum unnamed_reason unnamed_by_error(int r);
/*
 * Counts the frames of all samples that have no name, by reason, which is told for each module, and
 * sets the fact "unnamed" as docs/FORMAT.md says. 0 or -ENOMEM.
 */
int unnamed_note(struct tape *tape, const uint8_t *reasons);
