/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Flamescope opens a file only if libmagic takes it for plain text. libmagic searches the start of
 * a file for words of some forty languages: a comm like "extern int" or a function with "<script>"
 * makes the whole file C or HTML. So the export keeps such names out of a file's first bytes.
 */

#include <stddef.h>

#include "base/bytes.h"
#include "flamescope-export/tape-text.h"

/* libmagic searches this many bytes. */
#define DISGUISE_BYTES 8192

/* Returns whether the sample's text contains a name that must not be there. */
bool disguise_is_needed(const struct tape_text *text, const struct tape_sample *sample);
/*
 * Puts a value that a user or a process chose into a '#' line, without anything that libmagic
 * knows.
 */
void disguise_put_value(struct buffer *text, const char *value);
