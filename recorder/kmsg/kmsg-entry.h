/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A line of the kernel's log, with its incident, that the reading thread passes to the tape. */

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
	/* the tape of its time has ended, so the incident must first become a note of the store */
	bool wants_note;
	bool noted;
	/* the line comes from a trace event, not from the log */
	bool traced;
	/* wall clock and its error; set together with wants_note */
	uint64_t realtime_ns, error_ns;
	char *text;
	/* the members below belong to the incident; 0: the line is not an incident */
	uint64_t id;
	/* the begin of the incident's stall */
	uint64_t stall_ns;
	uint32_t severity;
	/* borrowed from the catalogue */
	const char *kind;
	/* in the form of struct store_incident */
	char *fields;
};

/* Makes an entry with a copy of the text, which ends with a NUL. Returns NULL without memory. */
struct kmsg_entry *kmsg_entry_new(uint64_t stamp_ns, uint64_t sequence, uint32_t priority,
				  const char *text, size_t size);
struct kmsg_entry *kmsg_entry_free(struct kmsg_entry *entry);
DEFINE_CLEANUP(kmsg_entry, struct kmsg_entry *, kmsg_entry_free)

/* Makes the line an incident. Returns 0 or -ENOMEM. */
int kmsg_entry_classify(struct kmsg_entry *entry, const struct incident *incident, uint64_t id);

/*
 * Puts the line into the tape. Also puts its incident, unless a note already has it. Returns 0 or
 * -ENOMEM.
 */
int kmsg_entry_put(const struct kmsg_entry *entry, struct tape *tape);

/* Returns the incident in the form of a note. Valid as long as the entry. */
struct store_incident kmsg_entry_incident(const struct kmsg_entry *entry, const char *boot_id);

/* Entries in order. A zeroed chain is empty. */
struct kmsg_chain {
	struct kmsg_entry *first, *last;
	size_t count;
};

/* Puts an entry behind the others. */
void kmsg_chain_put(struct kmsg_chain *chain, struct kmsg_entry *entry);
/* Takes the first entry of a chain that is not empty. */
struct kmsg_entry *kmsg_chain_take(struct kmsg_chain *chain);
