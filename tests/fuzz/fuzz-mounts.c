// SPDX-License-Identifier: GPL-2.0-only
/* Mounts as the kernel lists them. The input is a line with a path, then the text of the list. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "naming/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	char *line = text ? strchr(text, '\n') : NULL;

	if (!line)
		return 0;
	*line = 0;
	mounts_is_remote(line + 1, line + 1, text, 50, 1);
	/* an empty list lacks a mount for any path */
	if (mounts_is_remote("", line + 1, text, 50, 1))
		abort();
	return 0;
}
