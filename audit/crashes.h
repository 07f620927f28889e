/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Programs that crashed, from lines of the kernel's log: "worker[1234]: segfault at 0 ip ...". On
 * x86 the kernel logs deaths by SIGSEGV, SIGBUS, SIGILL and SIGFPE, at most ten in five seconds. So
 * the numbers are lower bounds.
 */

#include <stdint.h>

#include "base/array.h"

#define CRASHES_COMM_SIZE 64
#define CRASHES_TEXT_SIZE 160

struct crash_program {
	/* The first 15 bytes of the program's name, with the escapes of the log. */
	char comm[CRASHES_COMM_SIZE];
	/* The end of the last crash's line. */
	char text[CRASHES_TEXT_SIZE];
	int64_t pid;
	uint64_t last_ns;
	/* The number of crashes in the last hour, and since `watched_ns`. */
	int64_t hour;
	int64_t now;
};

struct crashes {
	/* Times on the clock of the log's stamps: now, and the begin of the watch. */
	uint64_t now_ns;
	uint64_t watched_ns;
	array_of(struct crash_program) list;
};

/* Reads records in the form of /dev/kmsg, one per line. Returns 0 or -ENOMEM. */
int crashes_take(struct crashes *crashes, const char *records, size_t size);
void crashes_done(struct crashes *crashes);
