/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Why a store cannot be written, as its writer says it at the start: which store, what could not be
 * done, and what to do about it. */

#include "base/error.h"

/* The file or folder within the store, and what of it failed: "make", "open". Returns the code, a
 * negative errno. */
int write_error_set(struct error *error, int code, const char *store, const char *doing,
		    const char *name);
