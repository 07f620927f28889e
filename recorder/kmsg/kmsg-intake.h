/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Turns records of /dev/kmsg into entries. Decides which lines are new, who wrote each line, which
 * incident it is, and which lines exceed an allowance. Belongs to the reading thread alone.
 */

#include "gauges/interrupts.h"
#include "incidents/logs/classify.h"
#include "incidents/logs/kmsg.h"
#include "recorder/kmsg/kmsg-entry.h"
#include "store/read/log-resume.h"

struct kmsg_bucket {
	uint64_t at_ns;
	uint64_t level_ns;
};

/* A timeout of a queue; the kernel's log and a trace event may both report it. */
struct kmsg_timeout {
	char ifname[32];
	uint64_t queue;
	uint64_t stamp_ns;
	bool traced;
};
#define KMSG_TIMEOUTS 64

struct kmsg_intake {
	const char *store;
	bool trust_users;
	/* the folder above /proc */
	const char *root;
	/* in a new store, lines before this time count only if they are incidents */
	uint64_t begin_ns;
	/* `put` takes ownership of the entry; `trouble` gets errors of reserving ids */
	void (*put)(void *context, struct kmsg_entry *entry);
	void (*trouble)(void *context, const struct error *error);
	void *context;
	/* kmsg-intake.c sets the members below; other files may read them */
	struct classify classify;
	/* the position in the log up to which earlier recorders took lines */
	struct log_resume before;
	/* a recorder has read all lines before next_sequence */
	bool continues;
	/* no earlier recorder has read the log into this store */
	bool first;
	uint64_t next_sequence;
	/* stamp of the last line */
	uint64_t last_ns;
	struct kmsg_bucket lines, incidents, users;
	uint64_t dropped, dropped_incidents, dropped_since_ns;
	/* a line was dropped, because memory was short */
	bool starved;
	uint64_t id, ids_end, ids_count;
	/* the current line */
	struct kmsg_entry *entry;
	/* an untrusted user wrote the current line */
	bool from_user;
	/* number of incidents */
	uint64_t found;
	/* the thread that the last incident of this recording names; 0: none */
	uint32_t named;
	/* the table of interrupts, and the stamp at which it was read */
	struct interrupts interrupts;
	uint64_t asked_ns;
	/* the most recent timeouts */
	struct kmsg_timeout timeouts[KMSG_TIMEOUTS];
	size_t next_timeout;
};

/* Keeps the members that the caller set. */
void kmsg_intake_init(struct kmsg_intake *intake, const struct catalogue *catalogue);
void kmsg_intake_done(struct kmsg_intake *intake);

/*
 * Finds the position in the log from which to continue. If the store's position is from another
 * boot, the whole log is new. In a new store, the whole log is new, too, but lines before begin_ns
 * count only if they are incidents. Returns 0 or a negative errno.
 */
int kmsg_intake_find(struct kmsg_intake *intake, const char *boot_id, struct error *error);
/* Handles one record that read() returned. Ignores a text that is not a record. */
void kmsg_intake_take(struct kmsg_intake *intake, const char *data, size_t size);
/*
 * Takes ownership of an entry that does not come from the log. Drops the entry if the log has
 * reported the same incident.
 */
void kmsg_intake_report(struct kmsg_intake *intake, struct kmsg_entry *entry);
/* Reports dropped lines, if there are any. */
void kmsg_intake_report_dropped(struct kmsg_intake *intake);
