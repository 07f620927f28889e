// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/self-setup.h"

#include <errno.h>
#include <malloc.h>
#include <sys/resource.h>

#define BLOCK_BYTES (1 << 20)
#define FREE_BYTES (4 << 20)

int self_setup_go_first(void)
{
	int nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, 0);
	if (nice == -1 && errno)
		return -errno;
	if (nice != 0)
		return 0;
	return setpriority(PRIO_PROCESS, 0, SELF_SETUP_NICE) < 0 ? -errno : 0;
}

void self_setup_return_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES);
	mallopt(M_TRIM_THRESHOLD, FREE_BYTES);
}
