/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds the CPUs that had no idle time in a stall, and reads what they did. */

#include "base/error.h"
#include "query/explain/evidence.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"

/* The strips show this much before and after the stall. */
#define STALL_BEFORE_NS 10000000000ull
#define STALL_AFTER_NS 5000000000ull

/*
 * Reads the samples around evidence->stall_from_ns and stall_to_ns. Fills the cores, the machine's
 * share, the strips and the coverage. The question's window is not used. Returns 0 or a negative
 * errno.
 */
int stall_cores_read(struct store_reader *reader, const struct question *question,
		     struct evidence *evidence, struct error *error);

/*
 * Adds the parts of the window beside the stall that could not be read (evidence->unread), so that
 * the answer is not whole. Returns 0 or -ENOMEM.
 */
int stall_cores_add_unread(struct evidence *evidence);
