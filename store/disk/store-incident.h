/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* The kind, and the source, of what somebody put there as a mark. It is no incident: it has no
 * weight, and pins nothing. */
#define STORE_MARK "mark"

/* An incident of a segment or of the notes, with what the index knows of it. Times are of the wall
 * clock. */
struct store_incident {
	/* one number in this store for good; 0: it has none */
	uint64_t id;
	uint64_t time_ns;
	/* where its stall began; time_ns where it has none */
	uint64_t stall_ns;
	/* the times may be off by so much */
	uint64_t error_ns;
	/* the kernel's stamp; 0: not known */
	uint64_t perf_ns;
	const char *kind;
	/* as its tape or its note has it: the more, the worse */
	uint32_t severity;
	const char *text;
	/* "kmsg", or the log that it was found in */
	const char *source;
	/* rows NAME=VALUE, each with a newline */
	const char *fields;
	/* "" where it is not known */
	const char *boot_id;
	/* its name; "" for one that is in the notes */
	const char *segment;
};
