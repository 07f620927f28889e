/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Undoes the escapes of loggers and web pages, such as rsyslog's #012 and &gt;, and drops the
 * colours of terminals. The cursor may then point into the scratch. The scratch must not move, so
 * it must be large enough for copies of the text.
 */

#include "base/bytes.h"
#include "incidents/patterns/text-cursor.h"

void escapes_drop(struct buffer *scratch, struct text_cursor *cursor);
