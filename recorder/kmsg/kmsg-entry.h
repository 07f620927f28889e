/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A line of the kernel's log on its way from the reading thread to the tape, with its incident. */

#include "incidents/logs/scanner.h"
#include "store/disk/store-incident.h"
#include "tape/tape.h"

struct kmsg_entry {
	struct kmsg_entry *next;
	/* perf clock */
	uint64_t stamp_ns;
	uint64_t sequence;
	/* facility * 8 + level */
	uint32_t priority;
	/* its tape is closed already, so it must first become a note of the store */
	bool wants_note;
	bool noted;
	/* it comes from a trace event, not from a line of the log */
	bool traced;
	/* set with wants_note */
	uint64_t realtime_ns, error_ns;
	char *text;
	/* the members below belong to the incident; 0: the line is not an incident */
	uint64_t id;
	/* when its stall began */
	uint64_t stall_ns;
	uint32_t severity;
	/* borrowed from the catalogue */
	const char *kind;
	/* in the form of struct store_incident */
	char *fields;
};

/* Copies the text and ends it with a NUL. Returns NULL without memory. */
struct kmsg_entry *kmsg_entry_new(uint64_t stamp_ns, uint64_t sequence, uint32_t priority,
				  const char *text, size_t size);
struct kmsg_entry *kmsg_entry_free(struct kmsg_entry *entry);
DEFINE_CLEANUP(kmsg_entry, struct kmsg_entry *, kmsg_entry_free)

/* Makes the line an incident. Returns 0 or -ENOMEM. */
int kmsg_entry_classify(struct kmsg_entry *entry, const struct incident *incident, uint64_t id);

/* Puts the line into the tape, and its incident unless a note has it. Returns 0 or -ENOMEM. */
int kmsg_entry_put(const struct kmsg_entry *entry, struct tape *tape);

/* Returns the incident in the form of a note. Valid as long as the entry. */
struct store_incident kmsg_entry_incident(const struct kmsg_entry *entry, const char *boot_id);
