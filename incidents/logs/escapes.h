/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Undoes the spellings that loggers and web pages give to special bytes, such as rsyslog's #012 and
 * &gt;, and drops the colours of terminals. The cursor may then point into the scratch, which must
 * have room for copies of the text, because it must not move.
 */

#include "base/bytes.h"
#include "incidents/patterns/text-cursor.h"

void escapes_drop(struct buffer *scratch, struct text_cursor *cursor);
