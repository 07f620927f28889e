/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The file with the position up to which the store contains the kernel's log. The recorder writes
 * the position only now and then, so tapes may contain later lines (store/read/log-resume.h).
 */

#include <stdint.h>

#include "base/error.h"

struct log_position {
	/* "" if the recorder has never taken a line. */
	char boot_id[40];
	/* The sequence number of the last line that the recorder took or skipped. */
	uint64_t sequence;
	/* The stamp of that line. */
	uint64_t stamp_ns;
	/*
	 * The incident numbers that are reserved and not assigned yet: from next_id, below
	 * below_id.
	 */
	uint64_t next_id, below_id;
};

/* Reads the position. A damaged or missing file gives an empty position. */
int log_position_read(const char *store, struct log_position *ret_position, struct error *error);
/* Writes the position. The position is on the disk when the function returns. */
int log_position_keep(const char *store, const struct log_position *position, struct error *error);
