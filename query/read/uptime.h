/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Moments as the kernel's log has them, "[12345.678901]": seconds since a boot, on the clock that
 * samples have too. */

#include <stdint.h>

#include "base/error.h"
#include "store/read/store-reader.h"

struct uptime_moment {
	uint64_t realtime_ns;
	/* how far that may be off, as far as the recording knows */
	uint64_t error_ns;
	/* how far from what was recorded of that boot; 0: within it */
	uint64_t beside_ns;
	char boot_id[40];
};

/*
 * boot is the beginning of a boot's id, NULL the latest boot that is recorded. -EINVAL with a text
 * where the store has no such boot or several, or nothing of it can be read.
 */
int uptime_find(struct store_reader *reader, uint64_t uptime_ns, const char *boot,
		struct uptime_moment *ret_moment, struct error *error);
