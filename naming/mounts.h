/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * File systems that may keep us waiting for ever: behind a network, or behind a process of
 * somebody's (FUSE). Where such a one is dead even stat() blocks, so they are told from the text of
 * /proc/PID/mountinfo before a path is touched. Pure.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * Does a file lie on one of them, or the way to it lead over one? The path is as those who see
 * these mounts see it; device 0 is not known. What is on `root_device` is not one, whatever it is:
 * there we run from ourselves.
 */
bool mounts_is_remote(const char *mountinfo, const char *path, uint64_t device,
		      uint64_t root_device);
