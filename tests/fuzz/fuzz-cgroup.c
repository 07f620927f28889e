// SPDX-License-Identifier: GPL-2.0-only
/* Parses any text as /proc/PID/cgroup. The chosen path begins with a slash, or is empty. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recorder/procs/cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	const char *path;

	if (!text)
		abort();
	path = cgroup_choose(text);
	if (*path && *path != '/')
		abort();
	if (strchr(path, '\n'))
		abort();
	return 0;
}
