// SPDX-License-Identifier: GPL-2.0-only
/* Reads the counters of /proc/vmstat that show a shortage of memory. */
#include <string.h>

#include "gauges/source.h"

#define LIMIT (1 << 20)

static const char *const counters[] = { "pgscan_kswapd",
					"pgscan_direct",
					"pgsteal_kswapd",
					"pgsteal_direct",
					"allocstall_dma",
					"allocstall_dma32",
					"allocstall_normal",
					"allocstall_movable",
					"allocstall_device",
					"compact_stall",
					"compact_fail",
					"compact_success",
					"pgmajfault",
					"pswpin",
					"pswpout",
					"oom_kill",
					"drop_slab",
					"drop_pagecache",
					"workingset_refault_anon",
					"workingset_refault_file",
					"thp_fault_fallback",
					"numa_pages_migrated" };

struct vmstat {
	struct source_file file;
	struct source_ids ids;
};

static void *vmstat_make(const char *root)
{
	struct vmstat *vmstat = calloc(1, sizeof(*vmstat));

	if (vmstat)
		source_file_init(&vmstat->file, root, "/proc/vmstat");
	return vmstat;
}

static void vmstat_done(void *state)
{
	struct vmstat *vmstat = state;

	source_file_done(&vmstat->file);
	source_ids_done(&vmstat->ids);
	free(vmstat);
}

static int vmstat_put_row(struct vmstat *vmstat, const struct gauges_sink *sink, struct words line)
{
	struct words name, word;
	int64_t value;

	if (!words_next(&line, &name))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		if (words_equal(&name, counters[i]) && words_next(&line, &word) &&
		    words_number(&word, &value))
			return source_put(&vmstat->ids, i, sink, value, "vmstat/%s", counters[i]);
	return 0;
}

static int vmstat_read(void *state, const struct gauges_sink *sink)
{
	struct vmstat *vmstat = state;
	struct words text, line;
	int r = source_file_read(&vmstat->file, LIMIT);

	if (r < 0)
		return r;
	text = (struct words){ vmstat->file.text, vmstat->file.text + vmstat->file.size };
	while (r == 0 && words_line(&text, &line))
		r = vmstat_put_row(vmstat, sink, line);
	return r;
}

const struct source_kind source_vmstat = {
	"vmstat", 10, vmstat_make, vmstat_read, vmstat_done, NULL
};
