/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The sections that are rows of numbers and strings, one column each: "strings", "facts",
 * "anchors", "threads", "losses", "events", "lines", "incident", "gauges". One that has no rows is
 * not there.
 */

#include "tape/segment/segment-internal.h"

/* Those that a tape's samples do not refer to. */
int rows_encode_context(struct encoding *encoding);
/* To come behind all that refers to threads. */
int rows_encode_threads(struct encoding *encoding);
/* To come last: all that was referred to. */
int rows_encode_strings(struct encoding *encoding);

/* Strings, facts and anchors, and the others that are wanted. */
int rows_decode(const struct decoding *decoding);
