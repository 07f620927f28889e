/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The file that says how far the kernel's log is in a store. The recorder writes it now and then;
 * the lines of the tapes are the truth (store/read/log-resume.h).
 */

#include <stdint.h>

#include "base/error.h"

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

/* A file that is damaged or missing gives an empty position. */
int log_position_read(const char *store, struct log_position *ret_position, struct error *error);
/* On the disk when it returns. */
int log_position_keep(const char *store, const struct log_position *position, struct error *error);
