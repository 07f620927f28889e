/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Compares whole answers with the files of tests/golden/, byte by byte. */

#include <stdlib.h>

#include "base/file.h"
#include "tests/check.h"

static inline const char *tests_folder(void)
{
	const char *folder = getenv("PERFTAPE_TESTS");

	return folder ? folder : "tests";
}

/* UPDATE_GOLDEN=1 writes the file instead of comparing it. */
static inline void check_golden(const char *name, const char *text)
{
	_cleanup_free_ char *expected = NULL;
	char path[4096], folder[4096];
	int line = 1;
	size_t at = 0;

	snprintf(folder, sizeof(folder), "%.4000s/golden", tests_folder());
	snprintf(path, sizeof(path), "%.4000s/%s", folder, name);
	if (getenv("UPDATE_GOLDEN"))
		CHECK_EQ(file_replace(folder, name, text, strlen(text)), 0);
	CHECK_EQ(file_read(path, 1 << 20, &expected, NULL), 0);
	if (!strcmp(text, expected))
		return;
	for (; text[at] && text[at] == expected[at]; at++)
		line += text[at] == '\n';
	CHECK_FAIL("%s line %d is another; UPDATE_GOLDEN=1 writes it anew", name, line);
}
