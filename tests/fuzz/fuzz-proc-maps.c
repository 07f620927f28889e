// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses any text as /proc/PID/maps. Each mapping has a size, and its path is a part of the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "naming/proc-maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	size_t length = text ? strlen(text) : 0, count = 0;
	struct proc_map map;
	char *rest = text;

	if (!text)
		abort();
	while (proc_maps_next(&rest, &map))
		if (map.end <= map.start || map.path < text || map.path > text + length ||
		    strchr(map.path, '\n') || ++count > length)
			abort();
	if (rest)
		abort();
	return 0;
}
