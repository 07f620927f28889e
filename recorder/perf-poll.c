// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf-poll.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * libperf gives no access to the descriptors that it opens: they are found in /proc/self/fd.
 */

void perf_poll_done(struct perf_poll *poll)
{
	array_done(&poll->files);
	array_done(&poll->rings);
}

/* A file that was there before is of the kind that it was. */
static uint8_t polled_ring(const struct pollfd *polled, const uint8_t *rings, size_t count, int fd,
	enum perf_ring fresh)
{
	for (size_t i = 0; i < count; i++)
		if (polled[i].fd == fd)
			return rings[i];
	return fresh;
}

int perf_poll_collect(struct perf_poll *poll, enum perf_ring fresh)
{
	DIR *dir = opendir("/proc/self/fd");
	_cleanup_free_ struct pollfd *before = take_ptr(poll->files.items);
	_cleanup_free_ uint8_t *rings = take_ptr(poll->rings.items);
	size_t count = poll->files.count;
	struct dirent *entry;
	char target[64];
	int r = 0;

	array_done(&poll->files);
	array_done(&poll->rings);
	while (r == 0 && dir && (entry = readdir(dir))) {
		ssize_t size = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		struct pollfd polled = { .fd = atoi(entry->d_name), .events = POLLIN };

		target[MAX(size, 0)] = 0;
		if (strcmp(target, "anon_inode:[perf_event]") != 0)
			continue;
		fcntl(polled.fd, F_SETFD, FD_CLOEXEC);
		r = array_push(&poll->files, polled);
		if (r == 0)
			r = array_push(
				&poll->rings, polled_ring(before, rings, count, polled.fd, fresh));
	}
	if (dir)
		closedir(dir);
	return r;
}

enum perf_wake perf_poll_wait(struct perf_poll *poll, uint64_t timeout_ns)
{
	struct timespec timeout = { timeout_ns / NSEC_PER_SEC, timeout_ns % NSEC_PER_SEC };
	enum perf_wake wake = PERF_WAKE_TIME;

	if (ppoll(poll->files.items, poll->files.count, &timeout, NULL) <= 0)
		return PERF_WAKE_TIME;
	for (size_t i = 0; i < poll->files.count && wake != PERF_WAKE_SAMPLES; i++)
		if (poll->files.items[i].revents)
			wake = poll->rings.items[i] == PERF_RING_SAMPLES ? PERF_WAKE_SAMPLES
									 : PERF_WAKE_SIDEBAND;
	return wake;
}
