// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/host-facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"

/*
 * Bytes at the start of /proc/kallsyms: symbols of per-CPU data, and then the first ones of code.
 */
#define KALLSYMS_HEAD (1u << 20)

/*
 * Finds the address of the kernel's code in this boot, for a tape that is named after the next
 * boot.
 */
static void find_kernel_text(char *text, size_t size)
{
	_cleanup_free_ char *symbols = malloc(KALLSYMS_HEAD + 1);
	_cleanup_close_ int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 1;
	char *at = NULL;

	text[0] = 0;
	while (symbols && fd >= 0 && !at && got > 0) {
		got = read(fd, symbols + used, KALLSYMS_HEAD - used);
		used += MAX(got, 0);
		symbols[used] = 0;
		at = strstr(symbols, " T _text\n");
	}
	if (!at)
		return;
	while (at > symbols && at[-1] != '\n')
		at--;
	snprintf(text, size, "%llx", strtoull(at, NULL, 16));
}

static void find_online(char *text, size_t size)
{
	_cleanup_free_ char *online = NULL;

	text[0] = 0;
	if (file_read("/sys/devices/system/cpu/online", size, &online, NULL) == 0)
		snprintf(text, size, "%.*s", (int)strcspn(online, "\n"), online);
}

int host_facts_collect(struct host_facts *facts, const struct perf_events *events,
		       const char *cpu_list, unsigned int frequency, const char *version,
		       const char *stack_bytes)
{
	_cleanup_free_ char *boot_id = NULL;
	int r = file_read("/proc/sys/kernel/random/boot_id", 64, &boot_id, NULL);

	if (r == -ENOMEM)
		return r;
	uname(&facts->names);
	if (r == 0)
		snprintf(facts->boot_id, sizeof(facts->boot_id), "%.*s",
			 (int)strcspn(boot_id, "\n"), boot_id);
	find_kernel_text(facts->kernel_text, sizeof(facts->kernel_text));
	find_online(facts->cpus_online, sizeof(facts->cpus_online));
	snprintf(facts->frequency, sizeof(facts->frequency), "%u", frequency);
	snprintf(facts->cpus, sizeof(facts->cpus), "%u", perf_events_cpus(events));
	memcpy(facts->rows,
	       (struct pipeline_fact[]){
		       { "boot_id", facts->boot_id },
		       { "host", facts->names.nodename },
		       { "kernel", facts->names.release },
		       { "kernel_text", facts->kernel_text },
		       { "event", perf_events_name(events) },
		       { "frequency", facts->frequency },
		       { "cpus", facts->cpus },
		       { "cpu_list", cpu_list ? cpu_list : "" },
		       { "cpus_online", facts->cpus_online },
		       { "lacks", perf_events_lacks(events) },
		       { TAPE_STACK_BYTES, stack_bytes },
		       { "version", version },
		       { TAPE_BEGUN, facts->begun },
		       { 0 },
	       },
	       sizeof(facts->rows));
	return 0;
}

void host_facts_begin(struct host_facts *facts, uint64_t begin_ns)
{
	snprintf(facts->begun, sizeof(facts->begun), "%llu", (unsigned long long)begin_ns);
}
