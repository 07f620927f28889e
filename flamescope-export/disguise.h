/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Flamescope opens only what libmagic takes for plain text. That looks for the words of some forty
 * languages near a file's start, and a comm like "extern int", or "<script>" in a function, makes
 * the whole file C or HTML. So names that could are kept out of there.
 */

#include <stddef.h>

#include "base/bytes.h"
#include "flamescope-export/tape-text.h"

/* How far libmagic looks for words. */
#define DISGUISE_BYTES 8192

/* Has the sample's text, of which this many bytes are added to the count, a name that must not be
 * there? */
bool disguise_is_needed(const struct tape_text *text, const struct tape_sample *sample);
/* What a person or a process named, as a part of a '#' line, with nothing that libmagic knows. */
void disguise_put_value(struct buffer *text, const char *value);
