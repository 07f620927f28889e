/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/*
 * The note of samples that a recorder could not store, from a time without segments. The recorder
 * writes this note when it ends.
 */
struct store_unsaved {
	char boot_id[40];
	/* As TAPE_ENDED. */
	char ended[32];
	/* The lowest number of the recorder's tapes. */
	uint64_t first;
	/* On the wall clock. */
	uint64_t from_ns, to_ns;
	uint64_t perf_from_ns, perf_to_ns;
	uint64_t samples;
};
