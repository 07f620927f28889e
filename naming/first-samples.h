/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* When each module of a tape was first sampled. Private to naming/. */

#include "tape/tape.h"

/*
 * Finds the time of each module's first sample on the tape's clock; UINT64_MAX: never. Returns 0 or
 * -ENOMEM. The caller frees *ret_times, which has one time for each module.
 */
int first_samples_find(const struct tape *tape, uint64_t **ret_times);
