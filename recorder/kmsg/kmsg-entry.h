/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A line of the kernel's log on its way from who reads it to the tape, with the incident that it
 * tells of. */

#include "incidents/logs/scanner.h"
#include "store/disk/store-incident.h"
#include "tape/tape.h"

struct kmsg_entry {
	struct kmsg_entry *next;
	/* of the perf clock */
	uint64_t stamp_ns;
	uint64_t sequence;
	/* facility * 8 + level */
	uint32_t priority;
	/* its tape is over: a note comes first */
	bool wants_note;
	bool noted;
	/* no line of the log: a trace event said it */
	bool traced;
	/* of one that wants a note */
	uint64_t realtime_ns, error_ns;
	char *text;
	/* of an incident */
	/* 0: it tells of none */
	uint64_t id;
	/* when its stall began */
	uint64_t stall_ns;
	uint32_t severity;
	/* the catalogue's */
	const char *kind;
	/* as struct store_incident has them */
	char *fields;
};

/* The text is copied; a NUL ends it. NULL when memory is out. */
struct kmsg_entry *kmsg_entry_new(uint64_t stamp_ns, uint64_t sequence, uint32_t priority,
				  const char *text, size_t size);
struct kmsg_entry *kmsg_entry_free(struct kmsg_entry *entry);
DEFINE_CLEANUP(kmsg_entry, struct kmsg_entry *, kmsg_entry_free)

/* It tells of this incident. 0 or -ENOMEM. */
int kmsg_entry_judge(struct kmsg_entry *entry, const struct incident *incident, uint64_t id);

/* Into the tape: the line, and the incident if no note has it. 0 or -ENOMEM. */
int kmsg_entry_put(const struct kmsg_entry *entry, struct tape *tape);

/* As a note tells of it; valid as long as the entry is. */
struct store_incident kmsg_entry_incident(const struct kmsg_entry *entry, const char *boot_id);
