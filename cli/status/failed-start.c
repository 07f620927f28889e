// SPDX-License-Identifier: GPL-2.0-only
#include "cli/status/failed-start.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/foreign.h"
#include "store/disk/beneath.h"

/* A line with the time on the wall clock, and a line with the reason. */
#define FAILED_START_FILE "failed-start"

void failed_start_write(const char *store, const char *why)
{
	char text[FAILED_START_BYTES], segments[PATH_MAX];
	_cleanup_close_ int fd = -1;

	/* a folder that is not a store stays as it is */
	if (snprintf(segments, sizeof(segments), "%s/segments", store) >= (int)sizeof(segments) ||
	    !file_exists(segments))
		return;
	snprintf(text, sizeof(text), "%llu\n%s", (unsigned long long)clock_ns(CLOCK_REALTIME), why);
	fd = beneath_open(store, FAILED_START_FILE, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	if (fd >= 0)
		file_write_all(fd, text, strlen(text));
}

bool failed_start_read(const char *store, uint64_t *ret_time_ns, char why[FAILED_START_BYTES])
{
	_cleanup_close_ int fd = beneath_open(store, FAILED_START_FILE, O_RDONLY, 0);
	_cleanup_free_ char *text = NULL;
	uint64_t time_ns;
	char *end;

	if (fd < 0 || file_read_fd(fd, FAILED_START_BYTES, &text, NULL) < 0)
		return false;
	time_ns = strtoull(text, &end, 10);
	if (end == text || *end != '\n' || !end[1])
		return false;
	snprintf(why, FAILED_START_BYTES, "%s", end + 1);
	foreign_clean(why);
	*ret_time_ns = time_ns;
	return true;
}
