// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf/perf-poll.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * libperf does not hand out the descriptors that it opens, so this file finds them in
 * /proc/self/fd, in order of their numbers. libperf opened the descriptors of one ring one after
 * the other.
 *
 * If other descriptors were closed meanwhile, the order may be wrong. In that case the recorder
 * drains a ring that fills up one second later, together with all other rings.
 *
 * Descriptors of libperf are not close-on-exec until this file sets that flag. All other perf
 * events of this process are close-on-exec, so the flag distinguishes the two.
 */

static void perf_poll_forget_files(struct perf_poll *poll)
{
	array_done(&poll->known);
	array_done(&poll->files);
	array_done(&poll->rings);
}

void perf_poll_done(struct perf_poll *poll)
{
	perf_poll_forget_files(poll);
	if (poll->folder)
		closedir(poll->folder);
	poll->folder = NULL;
}

static int perf_poll_compare_files(const void *a, const void *b)
{
	const struct perf_poll_file *one = a, *other = b;

	return (one->fd > other->fd) - (one->fd < other->fd);
}

static const struct perf_poll_file *perf_poll_find_known(const struct perf_poll *poll,
							 const struct perf_poll_file *file)
{
	if (!poll->known.count)
		return NULL;
	return bsearch(file, poll->known.items, poll->known.count, sizeof(*file),
		       perf_poll_compare_files);
}

static bool perf_poll_is_close_on_exec(int fd)
{
	return fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

/*
 * Lists all descriptors that libperf has open, sorted. The caller fills in the rest of each entry.
 */
static int perf_poll_list_files(struct perf_poll *list, const struct perf_poll *before)
{
	struct dirent *entry;
	char target[64];
	int r = 0;

	if (!list->folder)
		list->folder = opendir("/proc/self/fd");
	if (!list->folder)
		return -errno;
	rewinddir(list->folder);
	while (r == 0 && (entry = readdir(list->folder))) {
		ssize_t size =
			readlinkat(dirfd(list->folder), entry->d_name, target, sizeof(target) - 1);
		struct perf_poll_file file = { .fd = atoi(entry->d_name) };

		target[MAX(size, 0)] = 0;
		if (strcmp(target, "anon_inode:[perf_event]") == 0 &&
		    (perf_poll_find_known(before, &file) || !perf_poll_is_close_on_exec(file.fd)))
			r = array_push(&list->known, file);
	}
	if (list->known.count)
		qsort(list->known.items, list->known.count, sizeof(*list->known.items),
		      perf_poll_compare_files);
	return r;
}

/*
 * Returns the kernel's id of an event, which stays the same while its descriptor is open; 0: none.
 */
static uint64_t perf_poll_id(int fd)
{
	uint64_t id = 0;

	return ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

static int perf_poll_poll_file(struct perf_poll *poll, const struct perf_poll_file *file)
{
	struct pollfd polled = { .fd = file->fd, .events = POLLIN };

	fcntl(file->fd, F_SETFD, FD_CLOEXEC);
	if (!file->polled)
		return 0;
	return array_push(&poll->files, polled) < 0 ? -ENOMEM
						    : array_push(&poll->rings, file->ring);
}

int perf_poll_collect(struct perf_poll *poll, enum perf_ring fresh, size_t files_per_ring)
{
	struct perf_poll now = { .folder = poll->folder };
	size_t count = 0;
	int r = perf_poll_list_files(&now, poll);

	for (size_t i = 0; r == 0 && i < now.known.count; i++) {
		struct perf_poll_file *file = &now.known.items[i];
		const struct perf_poll_file *before = perf_poll_find_known(poll, file);

		/* A descriptor that was open before keeps its kind. */
		*file = before ? *before
			       : (struct perf_poll_file){ file->fd, fresh,
							  files_per_ring &&
								  count++ % files_per_ring == 0,
							  perf_poll_id(file->fd) };
		r = perf_poll_poll_file(&now, file);
	}
	perf_poll_forget_files(poll);
	*poll = now;
	/* If memory was short, the last file may not have an entry in `rings`. */
	poll->files.count = poll->rings.count;
	return r;
}

int perf_poll_find(const struct perf_poll *poll, uint64_t id)
{
	for (size_t i = 0; i < poll->known.count; i++)
		if (poll->known.items[i].id == id)
			return poll->known.items[i].fd;
	return -1;
}

/*
 * ppoll() consumes the notifications, so look at all descriptors. A closed descriptor would be
 * ready forever, so stop polling it.
 */
unsigned int perf_poll_wait(struct perf_poll *poll, uint64_t timeout_ns)
{
	struct timespec timeout = { timeout_ns / NSEC_PER_SEC, timeout_ns % NSEC_PER_SEC };
	unsigned int rings = 0;

	if (ppoll(poll->files.items, poll->files.count, &timeout, NULL) <= 0)
		return 0;
	for (size_t i = 0; i < poll->files.count; i++)
		if (poll->files.items[i].revents & POLLNVAL)
			poll->files.items[i].fd = -1;
		else if (poll->files.items[i].revents)
			rings |= 1u << poll->rings.items[i];
	return rings;
}
