/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The section of which CPUs were busy: docs/FORMAT.md. It stands by itself, so that it can be kept
 * apart from its segment. */

#include "tape/busy.h"
#include "tape/segment/segment-internal.h"

#define SEGMENT_BUSY "busy"

int busy_encode(const struct busy *busy, struct encoding *encoding);
/* busy_done() in either case. */
int busy_take(struct section_reader *section, struct busy *busy);
/* Checks it, as nobody takes it from there. */
int busy_check(const struct decoding *decoding, const struct contents_entry *entry);
