// SPDX-License-Identifier: GPL-2.0-only
/* Priorities of messages, if standard error goes to the journal. */
#include "tests/check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options/journal.h"

static void set_stream(unsigned long long device, unsigned long long inode)
{
	char text[64];

	snprintf(text, sizeof(text), "%llu:%llu", device, inode);
	CHECK_EQ(setenv("JOURNAL_STREAM", text, 1), 0);
}

static void test_journal(void)
{
	struct stat about;

	CHECK_EQ(fstat(STDERR_FILENO, &about), 0);
	set_stream(about.st_dev, about.st_ino);
	CHECK_STR(journal_prefix(JOURNAL_ERROR), "<3>");
	CHECK_STR(journal_prefix(JOURNAL_WARNING), "<4>");
	CHECK_STR(journal_prefix(JOURNAL_INFO), "<6>");
}

static void test_elsewhere(void)
{
	struct stat about;

	CHECK_EQ(unsetenv("JOURNAL_STREAM"), 0);
	CHECK_STR(journal_prefix(JOURNAL_ERROR), "");
	CHECK_EQ(fstat(STDERR_FILENO, &about), 0);
	set_stream(about.st_dev, about.st_ino + 1);
	CHECK_STR(journal_prefix(JOURNAL_ERROR), "");
	set_stream(about.st_dev + 1, about.st_ino);
	CHECK_STR(journal_prefix(JOURNAL_ERROR), "");
	CHECK_EQ(setenv("JOURNAL_STREAM", "nonsense", 1), 0);
	CHECK_STR(journal_prefix(JOURNAL_ERROR), "");
}

CHECK_MAIN({ "the journal gets priorities", test_journal },
	   { "a terminal, a pipe and a file do not", test_elsewhere })
