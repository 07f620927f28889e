// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/self-setup.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define BLOCK_BYTES (1 << 20)
#define FREE_BYTES (4 << 20)

/*
 * With autogroups, the kernel shares the CPUs among sessions first, and a nice value counts only
 * within its session. The nice value of a session is in this file. A session that the recorder does
 * not lead has other processes, such as a shell and what it starts, so this changes nothing there.
 */
static void self_setup_lift_session(void)
{
	_cleanup_close_ int file = -1;
	char text[16];

	if (getsid(0) != getpid())
		return;
	file = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	snprintf(text, sizeof(text), "%d", SELF_SETUP_NICE);
	if (file >= 0)
		(void)file_write_all(file, text, strlen(text));
}

int self_setup_go_first(void)
{
	int nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, 0);
	if (nice == -1 && errno)
		return -errno;
	if (nice != 0)
		return 0;
	if (setpriority(PRIO_PROCESS, 0, SELF_SETUP_NICE) < 0)
		return -errno;
	self_setup_lift_session();
	return 0;
}

void self_setup_return_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES);
	mallopt(M_TRIM_THRESHOLD, FREE_BYTES);
}
