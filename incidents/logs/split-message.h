/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds later lines of a kernel message that a logger split. rsyslog's imklog and the dmesg of
 * busybox give each line of a message the kernel's stamp of the message. So a line with the stamp
 * of the kernel's line before it may be a name with newlines, which a user chose and the kernel
 * quotes. Two messages may also have the same microsecond; they only look like one message.
 *
 * A line that is an incident in the kernel's own words, and names no file, contains at most the
 * name of a task, which is too short to look like an incident. It does not make later lines
 * doubtful.
 *
 * Lines of other writers may stand between the lines of a message.
 *
 * Without the kernel's stamp, the log does not show where a message begins. A line of such a log is
 * doubtful if it may belong to the message before it: it comes within a second of the kernel's line
 * before it, or one of two adjacent lines has neither a stamp nor a writer.
 */

#include "incidents/logs/log-prefix.h"

/* Start with a zeroed one for each log. */
struct split_message {
	/* The log has a line so far, besides headings. */
	bool has_line;
	/* The next members describe the last line of the kernel, if there was one. */
	bool is_known;
	/* It is an incident in the kernel's own words, and names no file. */
	bool is_own;
	/* It may belong to the message before it. */
	bool is_doubtful;
	enum uptime_quality uptime_quality;
	uint64_t uptime_ns;
	bool has_wall;
	struct stamp wall;
	/* What the line directly before the next one is, of any writer. */
	enum split_before {
		/* It may have a name with newlines. */
		SPLIT_BEFORE_OTHER,
		/* It may, and has neither a stamp nor a writer. */
		SPLIT_BEFORE_BARE,
		/* It is not a part of the same message. */
		SPLIT_BEFORE_END,
	} before;
};

/*
 * Passes lines with which the scanner does nothing else. Reads only the last line of the kernel
 * among them. Returns 0 or -ENOMEM.
 */
int split_message_pass(struct split_message *split, const char *text, size_t size);
/* Notes that the next line begins a message, because it begins an entry of named fields. */
void split_message_begin(struct split_message *split);
/* Returns whether this line has the stamp of the kernel's line before it, as one message has. */
bool split_message_continues(const struct split_message *split, const struct log_prefix *prefix);
/* Returns whether the log does not show that a message begins with this line. */
bool split_message_is_doubtful(const struct split_message *split, const struct log_prefix *prefix);
/*
 * Takes the next line of the log. `is_own`: it is an incident in the kernel's own words, and does
 * not continue a message.
 */
void split_message_take(struct split_message *split, const struct log_prefix *prefix, bool is_own);
