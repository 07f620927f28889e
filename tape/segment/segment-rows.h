/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The sections that are plain rows of numbers and strings, with one column each: "strings",
 * "facts", "anchors", "threads", "losses", "events", "lines", "incident", "gauges", "usual". The
 * encoder omits a section without rows.
 */

#include "tape/segment/segment-internal.h"

/* Encodes the rows that samples do not refer to. */
int rows_encode_context(struct encoding *encoding);
/* Encodes the threads. Call it after everything that refers to threads. */
int rows_encode_threads(struct encoding *encoding);
/* Encodes the strings that other sections refer to. Call it last. */
int rows_encode_strings(struct encoding *encoding);

/* Decodes strings, facts and anchors, and the other rows that are wanted. */
int rows_decode(const struct decoding *decoding);
