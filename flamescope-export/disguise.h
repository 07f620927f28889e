/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Flamescope opens a file only if libmagic recognises it as plain text. libmagic searches the start
 * of a file for words of some forty languages. If it finds a comm like "extern" or a function with
 * "<script>", it takes the whole file for C or HTML. So the export keeps such names out of a file's
 * first bytes.
 */

#include <stddef.h>

#include "base/bytes.h"
#include "flamescope-export/tape-text.h"

/* libmagic searches the first 8192 bytes. Some of its rules begin at byte 100. */
#define DISGUISE_BYTES 8320

/*
 * Returns whether the sample's text contains a name that must not be in the first DISGUISE_BYTES.
 */
bool disguise_is_needed(const struct tape_text *text, const struct tape_sample *sample);
/*
 * Puts a value that a user or a process chose into a '#' line. A `_` replaces each punctuation mark
 * that could make libmagic recognise the value.
 */
void disguise_put_value(struct buffer *text, const char *value);
