// SPDX-License-Identifier: GPL-2.0-only
#include "process/close-files.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Closes the descriptors that /proc lists. Returns false without /proc. */
static bool close_files_listed(int first)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		/* atoi() makes 0 of "." and ".." */
		if (fd >= first && fd != dirfd(dir))
			close(fd);
	}
	closedir(dir);
	return true;
}

void close_files_from(int first)
{
	int last;

	/* close_range() fails before Linux 5.9, or under a seccomp filter that does not know it */
	if (syscall(__NR_close_range, first, INT_MAX, 0) == 0 || close_files_listed(first))
		return;
	/*
	 * the limit may be a billion, and that loop takes minutes; perftape never opens 2^20 files
	 */
	last = sysconf(_SC_OPEN_MAX);
	for (int fd = first; fd < last && fd < 1 << 20; fd++)
		close(fd);
}
