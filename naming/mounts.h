/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Recognises file systems that may hang: network file systems, and FUSE, which depends on a
 * process. On a file system that hangs, even stat() blocks, so the text of /proc/PID/mountinfo
 * decides before any path is accessed. A pure function.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns whether a file or a part of its path is on such a file system. `path` is a path in these
 * mounts; device 0 is unknown. `root_device` never counts as remote, because perftape's own program
 * runs from it. The layers of an overlay count, too; `host` lists the mounts in which their paths
 * lie. An overlay that `host` lacks counts as remote.
 */
bool mounts_is_remote(const char *mountinfo, const char *host, const char *path, uint64_t device,
		      uint64_t root_device);
/*
 * Returns whether the mount with this number (mnt_id of /proc/PID/fdinfo) is such a file system. If
 * neither list has the number, as for a program that changed its root in a container, another mount
 * of the file's device decides. Without one, the mount was detached or hidden, and counts as
 * remote.
 */
bool mounts_is_mount_remote(const char *mountinfo, const char *host, uint64_t id, uint64_t device,
			    uint64_t root_device);
