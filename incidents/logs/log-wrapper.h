/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What shippers of logs put around a line: each is taken off as a whole, or the cursor stays where
 * it is. */

#include "base/bytes.h"
#include "incidents/logs/stamp.h"

/* "{job="x", host="y"}", the labels of Loki; those that other { begin are JSON */
bool take_labels(struct text_cursor *cursor);
/* "stdout F ", which container runtimes put behind their stamp. */
bool take_stream(struct text_cursor *cursor);
/*
 * aws logs --output text: "EVENTS TAKEN-IN MESSAGE SAID" of get-log-events, and "EVENTS ID TAKEN-IN
 * STREAM MESSAGE SAID" of filter-log-events, with tabs between them.
 */
bool take_events(struct text_cursor *cursor, struct stamp *ret_stamp);

/* The first column of a CSV file, where it is a date in quotes; the cursor stands before the comma
 * then. */
bool take_quoted_stamp(struct text_cursor *cursor, struct stamp *ret_stamp);
/* Columns of a CSV file, of which one is quoted at the least: the cursor is the longest of them
 * then, in the scratch where it was quoted. */
bool take_columns(struct buffer *scratch, struct text_cursor *cursor);
/* logfmt, `time="2025-03-12T07:41:09Z" level=error msg="..."`: the cursor is what msg is then;
 * ret_stamp is untouched where it says no time. */
bool take_logfmt(struct buffer *scratch, struct text_cursor *cursor, struct stamp *ret_stamp);
/* What somebody quoted as a whole: `...`, or "...", with the comma behind it of an array. */
bool take_quotes(struct text_cursor *cursor);
/* `message: "`, of YAML; the cursor stands before the quote then. */
bool take_member(struct text_cursor *cursor);
