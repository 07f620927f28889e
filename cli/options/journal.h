/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Priorities of messages in systemd's journal. A service manager that connects our standard error
 * to the journal sets $JOURNAL_STREAM. The journal takes the priority from the begin of each line
 * (sd-daemon(3)).
 */

enum journal_priority {
	JOURNAL_ERROR = 3,
	JOURNAL_WARNING = 4,
	JOURNAL_INFO = 6,
};

/* Returns "<3>", or "" if standard error does not go to the journal. */
const char *journal_prefix(enum journal_priority priority);
