// SPDX-License-Identifier: GPL-2.0-only
/* Parses any text as a list of CPUs. The result is in ascending order and below the limit. */
#include <stdlib.h>
#include <string.h>

#include "base/cpu-list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	struct cpu_list list = { 0 };

	if (!text)
		abort();
	if (cpu_list_parse(text, &list) < 0)
		return 0;
	for (size_t i = 0; i < list.cpus.count; i++)
		if (list.cpus.items[i] >= CPU_LIST_MAX ||
		    (i && list.cpus.items[i] <= list.cpus.items[i - 1]))
			abort();
	if (!list.cpus.count || !cpu_list_has(&list, list.cpus.items[list.cpus.count - 1]))
		abort();
	cpu_list_done(&list);
	return 0;
}
