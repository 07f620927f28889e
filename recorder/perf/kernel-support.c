// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf/kernel-support.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/file.h"

/* Older kernel headers do not define this capability. */
#define CAPABILITY_CHECKPOINT_RESTORE 40

bool kernel_support_has_capability(unsigned int capability)
{
	_cleanup_free_ char *status = NULL;
	const char *line;

	if (file_read("/proc/self/status", 65536, &status, NULL) < 0)
		return false;
	line = strstr(status, "\nCapEff:");
	return line && strtoull(line + strlen("\nCapEff:"), NULL, 16) >> capability & 1;
}

bool kernel_support_is_older(unsigned int major, unsigned int minor)
{
	unsigned int our_major = 0, our_minor = 0;
	struct utsname names;

	if (uname(&names) < 0 || sscanf(names.release, "%u.%u", &our_major, &our_minor) < 2)
		return false;
	return our_major < major || (our_major == major && our_minor < minor);
}

bool kernel_support_in_user_namespace(void)
{
	unsigned long long inside, outside, count;
	_cleanup_free_ char *map = NULL;

	/* A kernel without user namespaces does not have this file. */
	if (file_read("/proc/self/uid_map", 65536, &map, NULL) < 0 ||
	    sscanf(map, "%llu %llu %llu", &inside, &outside, &count) != 3)
		return false;
	return inside != 0 || outside != 0 || count != UINT32_MAX;
}

/*
 * Returns whether the kernel shows all addresses as 0, as it does to a process without the right to
 * see them.
 */
static bool kernel_support_hides_addresses(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address;

	/* The first addresses belong to per-CPU data and are small or 0 on any machine. */
	for (int i = 0; file && i < 100000; i++)
		if (fscanf(file, "%llx%*[^\n]", &address) == 1 && address >> 32)
			return false;
	return true;
}

static bool kernel_support_hides_processes(void)
{
	return !kernel_support_has_capability(CAP_SYS_PTRACE) &&
	       !kernel_support_has_capability(CAP_SYS_ADMIN);
}

static bool kernel_support_hides_private_files(void)
{
	return !kernel_support_has_capability(CAP_DAC_READ_SEARCH) &&
	       !kernel_support_has_capability(CAP_DAC_OVERRIDE);
}

static bool kernel_support_hides_mapped_files(void)
{
	return !kernel_support_has_capability(CAP_SYS_ADMIN) &&
	       (kernel_support_is_older(5, 9) ||
		!kernel_support_has_capability(CAPABILITY_CHECKPOINT_RESTORE));
}

void kernel_support_describe(struct buffer *text)
{
	static const struct {
		const char *name;
		bool (*lacks)(void);
	} lacks[] = {
		{ "kallsyms", kernel_support_hides_addresses },
		{ "ptrace", kernel_support_hides_processes },
		{ "private-files", kernel_support_hides_private_files },
		{ "map-files", kernel_support_hides_mapped_files },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lacks); i++)
		if (lacks[i].lacks())
			buffer_printf(text, "%s%s", text->size ? "," : "", lacks[i].name);
}
