// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/mount-watch.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define MOUNTS "/proc/self/mountinfo"
#define MOUNTS_LIMIT (16u << 20)

static int mount_watch_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * Reads the devices of lines such as "36 35 98:0 /root /point ...". If memory is short, the list
 * stays as it was.
 */
static void mount_watch_read(struct mount_watch *watch)
{
	array_of(uint64_t) devices = { 0 };
	_cleanup_free_ char *text = NULL;
	unsigned int major, minor;
	char *line, *rest;
	int r = file_read(MOUNTS, MOUNTS_LIMIT, &text, NULL);

	if (r < 0)
		return;
	rest = text;
	while (r == 0 && (line = strsep(&rest, "\n")))
		if (sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2)
			r = array_push(&devices, makedev(major, minor));
	if (r < 0) {
		array_done(&devices);
		return;
	}
	if (devices.count)
		qsort(devices.items, devices.count, sizeof(*devices.items), mount_watch_compare);
	array_done(&watch->devices);
	watch->devices.items = devices.items;
	watch->devices.count = devices.count;
	watch->devices.capacity = devices.capacity;
}

void mount_watch_init(struct mount_watch *watch)
{
	*watch = (struct mount_watch){ .fd = open(MOUNTS, O_RDONLY | O_CLOEXEC) };
	mount_watch_update(watch);
	mount_watch_read(watch);
}

void mount_watch_done(struct mount_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->fd = -1;
	array_done(&watch->devices);
	array_done(&watch->gone);
}

static bool mount_watch_has(const uint64_t *devices, size_t count, uint64_t device)
{
	return count && bsearch(&device, devices, count, sizeof(device), mount_watch_compare);
}

bool mount_watch_update(struct mount_watch *watch)
{
	struct pollfd polled = { .fd = watch->fd, .events = POLLPRI };
	size_t kept = 0;

	watch->gone.count = 0;
	if (watch->fd < 0 || poll(&polled, 1, 0) <= 0 || !(polled.revents & POLLPRI))
		return false;
	for (size_t i = 0; i < watch->devices.count; i++)
		if (array_push(&watch->gone, watch->devices.items[i]) < 0)
			return false;
	mount_watch_read(watch);
	for (size_t i = 0; i < watch->gone.count; i++)
		if (!mount_watch_has(watch->devices.items, watch->devices.count,
				     watch->gone.items[i]))
			watch->gone.items[kept++] = watch->gone.items[i];
	watch->gone.count = kept;
	return kept != 0;
}

bool mount_watch_is_gone(const struct mount_watch *watch, uint64_t device)
{
	return mount_watch_has(watch->gone.items, watch->gone.count, device);
}
