// SPDX-License-Identifier: GPL-2.0-only
/* Any text in place of each file that a source reads: of a tree below /dev/shm, made once. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gauges/gauges.h"
#include "gauges/interrupts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = { "/proc/stat", "/proc/vmstat", "/proc/pressure/cpu",
	"/proc/self/mountinfo", "/proc/cgroups", "/proc/interrupts", "/cg/cgroup.stat",
	"/cg/cgroup.controllers", "/cg/cpu.max", "/cg/cpu.stat",
	"/sys/class/net/eth0/queues/tx-0/tx_timeout", "/proc/irq/30/effective_affinity_list" };
static char root[64];

static void put(const char *path, const void *data, size_t size)
{
	_cleanup_fclose_ FILE *file = NULL;
	char full[128];

	snprintf(full, sizeof(full), "%s%s", root, path);
	file = fopen(full, "w");
	if (!file || fwrite(data, 1, size, file) != size)
		abort();
}

static void remove_root(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	if (system(command) != 0)
		abort();
}

static void make_root(void)
{
	static const char *const folders[] = { "/proc/pressure", "/proc/self", "/proc/irq/30",
		"/cg/a", "/sys/class/net/eth0/device", "/sys/class/net/eth0/queues/tx-0" };
	char full[128];

	snprintf(root, sizeof(root), "/dev/shm/perftape-fuzz-XXXXXX");
	if (!mkdtemp(root))
		abort();
	atexit(remove_root);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(full, sizeof(full), "%s%s", root, folders[i]);
		if (file_make_dirs(full, 0700) < 0)
			abort();
	}
}

/* What the others have, so that one file after the other is reached. */
static void put_usual(void)
{
	static const char mounts[] = "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n";
	static const char controllers[] = "cpu memory\n", quota[] = "5 10\n", cpu[] = "1\n";

	put("/proc/self/mountinfo", mounts, sizeof(mounts) - 1);
	put("/cg/cgroup.controllers", controllers, sizeof(controllers) - 1);
	put("/cg/cpu.max", quota, sizeof(quota) - 1);
	put("/proc/irq/30/effective_affinity_list", cpu, sizeof(cpu) - 1);
}

static int take_name(void *context, const char *name, uint32_t *ret_id)
{
	if (!*name)
		abort();
	*ret_id = (*(uint32_t *)context)++;
	return 0;
}

static int take_value(void *context, uint32_t id, int64_t value)
{
	(void)value;
	if (id >= *(uint32_t *)context)
		abort();
	return 0;
}

/* The first byte says in which file's place the others stand. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct interrupts interrupts;
	struct gauges *gauges;
	uint32_t names = 0;
	const struct gauges_sink sink = { take_name, take_value, &names };

	if (!size)
		return 0;
	if (!*root)
		make_root();
	put_usual();
	put(files[data[0] % ARRAY_SIZE(files)], data + 1, size - 1);
	if (gauges_new(root, &sink, &gauges) < 0)
		return 0;
	for (int i = 0; i < 2; i++)
		if (gauges_read(gauges, 0) < 0)
			abort();
	gauges_free(gauges);
	if (interrupts_read(root, &interrupts) == 0)
		interrupts_done(&interrupts);
	return 0;
}
