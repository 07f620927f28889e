/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/*
 * The kind and the source of a mark. A mark is not an incident: its severity is 0 and it does not
 * pin segments.
 */
#define STORE_MARK "mark"

/*
 * An incident of a segment or of the notes, in the form that the index keeps. Times are of the wall
 * clock.
 */
struct store_incident {
	/* The incident's number in this store, which never changes; 0 without a number. */
	uint64_t id;
	uint64_t time_ns;
	/* The begin of the incident's stall; time_ns without a stall. */
	uint64_t stall_ns;
	/* The error of the times. */
	uint64_t error_ns;
	/* The kernel's stamp; 0 if unknown. */
	uint64_t perf_ns;
	const char *kind;
	/* From its tape or note. A larger number is worse. */
	uint32_t severity;
	const char *text;
	/* "kmsg", or the other log that contains the incident. */
	const char *source;
	/* Lines NAME=VALUE, each with a newline. */
	const char *fields;
	/* "" if unknown. */
	const char *boot_id;
	/* The name of its segment; "" for an incident in the notes. */
	const char *segment;
};
