/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A note in the store's folder: why the last recording did not begin, such as a right that is
 * absent. The note applies until a recording stores samples.
 */

#include <stdbool.h>
#include <stdint.h>

#define FAILED_START_BYTES 512

/*
 * Writes the note into a store that exists. Ignores errors, because the caller prints the reason,
 * too.
 */
void failed_start_write(const char *store, const char *why);
/* Reads the note. Returns false if the store does not have one. Others may have chosen the text. */
bool failed_start_read(const char *store, uint64_t *ret_time_ns, char why[FAILED_START_BYTES]);
