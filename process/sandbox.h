/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Confines a process to reading open files and answering, with bounded memory and time. The process
 * loses all rights and cannot open files or start processes. The kernel kills a process that makes
 * any other system call.
 */

#include <stddef.h>

struct sandbox_limits {
	/* Address space. A build with a sanitizer ignores this limit. */
	size_t memory_bytes;
	/* The kernel kills a process that uses more CPU time. */
	unsigned int cpu_seconds;
	/* Open files, including the standard ones. */
	unsigned int files;
};

/*
 * Enters the sandbox for good. Returns 0 or a negative errno. After an error, the process must not
 * go on.
 */
int sandbox_enter(const struct sandbox_limits *limits);
