/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Notices when a file system is unmounted, also lazily (`umount -l`). An open file of such a file
 * system keeps the device busy. Watches the mounts of our own namespace only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct mount_watch {
	/* /proc/self/mountinfo; -1: not readable. The kernel reports each change through poll(). */
	int fd;
	/* The devices of all mounts, sorted. */
	array_of(uint64_t) devices;
	/* The devices that the last change removed, sorted. */
	array_of(uint64_t) gone;
};

void mount_watch_init(struct mount_watch *watch);
void mount_watch_done(struct mount_watch *watch);
/* Looks for a change, without waiting. Returns whether a file system was unmounted. */
bool mount_watch_update(struct mount_watch *watch);
/* Returns whether the last change unmounted this device. */
bool mount_watch_is_gone(const struct mount_watch *watch, uint64_t device);
