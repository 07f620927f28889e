// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts any text in place of each file that a source reads. The target makes the files once, in a
 * tree below /dev/shm.
 */
#include <stdint.h>
#include <string.h>

#include "gauges/gauges.h"
#include "gauges/interrupts.h"
#include "tests/fuzz/root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = { "/proc/stat",
				     "/proc/vmstat",
				     "/proc/pressure/cpu",
				     "/proc/self/mountinfo",
				     "/proc/cgroups",
				     "/proc/interrupts",
				     "/cg/cgroup.stat",
				     "/cg/cgroup.controllers",
				     "/cg/cpu.max",
				     "/cg/cpu.stat",
				     "/sys/class/net/eth0/queues/tx-0/tx_timeout",
				     "/proc/irq/30/effective_affinity_list",
				     "/cg/cpu.cfs_quota_us",
				     "/sys/class/net/eth0/carrier_changes",
				     "/cg/a/cpu.stat",
				     "/proc/pressure/irq",
				     "/proc/softirqs",
				     "/proc/2/task/2/children",
				     "/proc/14/comm",
				     "/proc/14/schedstat" };
static const char *const folders[] = { "/proc/pressure",
				       "/proc/self",
				       "/proc/irq/30",
				       "/proc/2/task/2",
				       "/proc/14",
				       "/cg/a",
				       "/sys/class/net/eth0/device",
				       "/sys/class/net/eth0/queues/tx-0" };

/*
 * The contents of the other files, for both versions of cgroups, so that a source reaches the
 * fuzzed file.
 */
static void put_usual(bool v1)
{
	put_text("/proc/self/mountinfo", v1 ? "30 24 0:26 / /cg rw - cgroup cgroup rw,cpu,memory\n"
					    : "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	put_text("/proc/cgroups", "memory\t4\t9\t1\n");
	put_text("/cg/cgroup.controllers", "cpu memory\n");
	put_text("/cg/cpu.max", "5 10\n");
	put_text("/cg/cpu.cfs_quota_us", "5000\n");
	put_text("/cg/a/cpu.max", "5 10\n");
	put_text("/cg/a/cpu.cfs_quota_us", "5000\n");
	put_text("/proc/irq/30/effective_affinity_list", "1\n");
	put_text("/proc/2/task/2/children", "14 ");
	put_text("/proc/14/comm", "ksoftirqd/0\n");
	put_text("/proc/14/schedstat", "1 2 3\n");
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

/* The first byte chooses the file and the version of cgroups. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct interrupts interrupts;
	struct gauges *gauges;
	uint32_t names = 0;
	const struct gauges_sink sink = { take_name, take_value, &names };

	if (!size)
		return 0;
	if (!*root)
		make_root(folders, ARRAY_SIZE(folders));
	put_usual(data[0] & 0x80);
	put(files[(data[0] & 0x7f) % ARRAY_SIZE(files)], data + 1, size - 1);
	if (gauges_new(root, &sink, &gauges) < 0)
		return 0;
	for (int i = 0; i < 2; i++)
		if (gauges_read(gauges, 0) < 0 || gauges_watch_thread(gauges, 14) < 0)
			abort();
	gauges_free(gauges);
	if (interrupts_read(root, &interrupts) == 0)
		interrupts_done(&interrupts);
	return 0;
}
