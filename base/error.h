/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The one sentence that goes with a negative errno. A library fills it where it knows best what was
 * wrong, with what, and what to do; the command prints it once. NULL is accepted everywhere: then
 * only the number travels.
 */

#include <errno.h>
#include <stdbool.h>

struct error {
	char text[1024];
};

/* Sets the text and returns code, so that `return error_set(error, -EINVAL, ...)` is one line. */
int error_set(struct error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "PREFIX: " before the text that is there (or before strerror(-code) when there is none).
 * Returns code. */
int error_prefix(struct error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Does it say that this process is at its end, in memory or descriptors, and nothing of what it was
 * about? */
static inline bool error_is_exhaustion(int code)
{
	return code == -ENOMEM || code == -EMFILE || code == -ENFILE;
}
