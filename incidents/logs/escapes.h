/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What loggers and terminals make of bytes that are no text: rsyslog's #012 and a web page's &gt;
 * become what they were, and colours go. The cursor stands in the scratch then, which must have
 * room: it may not move.
 */

#include "base/bytes.h"
#include "incidents/patterns/text-cursor.h"

void escapes_drop(struct buffer *scratch, struct text_cursor *cursor);
