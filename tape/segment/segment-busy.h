/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The section of busy CPUs; docs/FORMAT.md describes it. It does not refer to other sections, so
 * that the index can keep a copy.
 */

#include "tape/busy.h"
#include "tape/segment/segment-internal.h"

#define SEGMENT_BUSY "busy"

int busy_encode(const struct busy *busy, struct encoding *encoding);
/* Decodes the section. The caller calls busy_done() in either case. */
int busy_take(struct section_reader *section, struct busy *busy);
/* Decodes the section only to check it. */
int busy_check(const struct decoding *decoding, const struct contents_entry *entry);
