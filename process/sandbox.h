/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Leaves a process only what it needs to read open files and to answer: no rights, no new files, no
 * new processes, bounded memory and time. The kernel kills a process that calls anything else.
 */

#include <stddef.h>

struct sandbox_limits {
	/* Address space. A build with a sanitizer has no such limit. */
	size_t memory_bytes;
	/* The kernel kills a process that uses more time of the CPU. */
	unsigned int cpu_seconds;
	/* Open files, with the standard ones. */
	unsigned int files;
};

/* Enters the sandbox for good. Returns 0 or a negative errno; do not go on then. */
int sandbox_enter(const struct sandbox_limits *limits);
