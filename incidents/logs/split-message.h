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
 */

#include "incidents/logs/log-prefix.h"

/* Start with a zeroed one for each log. */
struct split_message {
	/* The last line of the kernel: whether it has a stamp that is fine enough, and which. */
	bool is_known;
	/* It is an incident in the kernel's own words, and names no file. */
	bool is_own;
	enum uptime_quality uptime_quality;
	uint64_t uptime_ns;
	struct stamp wall;
};

/*
 * Passes lines with which the scanner does nothing else. Reads only the last line of the kernel
 * among them.
 */
void split_message_pass(struct split_message *split, const char *text, size_t size);
/* Returns whether this line may continue the message of the kernel's line before it. */
bool split_message_continues(const struct split_message *split, const struct log_prefix *prefix);
/*
 * Takes the next line of the log. `is_own`: it is an incident in the kernel's own words, and does
 * not continue a message.
 */
void split_message_take(struct split_message *split, const struct log_prefix *prefix, bool is_own);
