/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Explains why writing a store failed: which store, which action, and what to do. */

#include "base/error.h"

/*
 * Sets the text for a file or folder `name` within the store and the failed action, such as "make"
 * or "open". Returns the code, a negative errno.
 */
int write_error_set(struct error *error, int code, const char *store, const char *doing,
		    const char *name);
