/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The sentence that accompanies a negative errno. The library that knows the object, the fault and
 * the remedy sets the sentence; the command prints it once. All functions accept NULL for the error
 * and then set no text.
 */

#include <errno.h>
#include <stdbool.h>

struct error {
	char text[1024];
};

/* Sets the text. Returns `code`, so that `return error_set(error, -EINVAL, ...)` is one line. */
int error_set(struct error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Puts "PREFIX: " before the text, or before strerror(-code) if the text is empty. Keeps a text
 * that already begins with the prefix, such as the path of a file below the folder PREFIX. Returns
 * `code`.
 */
int error_prefix(struct error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Clears an error that the caller has handled, so that its text does not explain a later error.
 * Returns 0.
 */
static inline int error_forget(struct error *error)
{
	if (error)
		error->text[0] = 0;
	return 0;
}

/*
 * Returns whether the error means that this process lacks memory or descriptors. Such an error does
 * not depend on the object.
 */
static inline bool error_is_exhaustion(int code)
{
	return code == -ENOMEM || code == -EMFILE || code == -ENFILE;
}
