/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The wrappers that log shippers put around a line. Each function takes its form as a whole and
 * returns true, or leaves the cursor where it is.
 */

#include "base/bytes.h"
#include "incidents/logs/stamp.h"

/*
 * Takes "{job="x", host="y"}", the labels of Loki. A text that begins with { but is not such a list
 * is JSON.
 */
bool take_labels(struct text_cursor *cursor);
/* Takes "stdout F ", which container runtimes put after their stamp. */
bool take_stream(struct text_cursor *cursor);
/*
 * Takes the output of aws logs --output text, with tabs between its columns: "EVENTS RECEIVED
 * MESSAGE LOGGED" of get-log-events, and "EVENTS ID RECEIVED STREAM MESSAGE LOGGED" of
 * filter-log-events.
 */
bool take_events(struct text_cursor *cursor, struct stamp *ret_stamp);

/* Takes the first column of a CSV file if it is a quoted date, without the comma after it. */
bool take_quoted_stamp(struct text_cursor *cursor, struct stamp *ret_stamp);
/*
 * Takes the columns of a CSV file if at least one is quoted. The cursor then covers the longest
 * column; a quoted column is copied to the scratch.
 */
bool take_columns(struct buffer *scratch, struct text_cursor *cursor);
/*
 * Takes logfmt, `time="2025-03-12T07:41:09Z" level=error msg="..."`. The cursor then covers the
 * value of msg. *ret_stamp is unchanged if the text does not contain a time.
 */
bool take_logfmt(struct buffer *scratch, struct text_cursor *cursor, struct stamp *ret_stamp);
/*
 * Removes the quotes around the whole text, `...` or "...", and the comma of an array after them.
 */
bool take_quotes(struct text_cursor *cursor);
/* Takes `message: ` of YAML if a quote follows. The cursor then points to the quote. */
bool take_member(struct text_cursor *cursor);
