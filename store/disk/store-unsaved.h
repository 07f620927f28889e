/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* What a recorder says at its end that it could not store: samples of a time that no segment
 * covers. */
struct store_unsaved {
	char boot_id[40];
	/* as TAPE_ENDED */
	char ended[32];
	/* its tapes have that number or a larger one */
	uint64_t first;
	/* of the wall clock */
	uint64_t from_ns, to_ns;
	uint64_t perf_from_ns, perf_to_ns;
	uint64_t samples;
};
