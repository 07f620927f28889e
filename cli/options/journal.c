// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/journal.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Returns whether standard error goes to the journal. $JOURNAL_STREAM remains set when standard
 * error is redirected, so compares its device and inode with those of standard error.
 */
static bool journal_reads_us(void)
{
	const char *text = secure_getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat about;

	return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &about) == 0 && about.st_dev == device && about.st_ino == inode;
}

const char *journal_prefix(enum journal_priority priority)
{
	if (!journal_reads_us())
		return "";
	switch (priority) {
	case JOURNAL_ERROR:
		return "<3>";
	case JOURNAL_WARNING:
		return "<4>";
	case JOURNAL_INFO:
		return "<6>";
	}
	return "";
}
