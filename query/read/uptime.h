/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Converts moments as in the kernel log, "[12345.678901]", to the wall clock. Such moments are
 * seconds since boot, on the clock that samples use too.
 */

#include <stdint.h>

#include "base/error.h"
#include "store/read/store-reader.h"

struct uptime_moment {
	uint64_t realtime_ns;
	/* the largest error of the result, as far as the recording shows */
	uint64_t error_ns;
	/*
	 * how far the moment is from the recorded time of its boot; 0 means within the recorded
	 * time
	 */
	uint64_t beside_ns;
	char boot_id[40];
};

/*
 * Converts an uptime to the wall clock. `boot` is the beginning of a boot ID; NULL is the latest
 * recorded boot. Returns 0, or a negative errno with a message. -ENXIO: no boot matches. -EINVAL:
 * several boots match, or the boot's segments cannot be read.
 */
int uptime_find(struct store_reader *reader, uint64_t uptime_ns, const char *boot,
		struct uptime_moment *ret_moment, struct error *error);
