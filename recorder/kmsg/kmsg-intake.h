/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * From records of /dev/kmsg to entries: which lines are new, whose they are, what they tell of, and
 * how many are too many. Of the thread that reads alone.
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

/* A queue that did not send: the kernel's log may tell it, and a trace event. */
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
	/* that /proc is below */
	const char *root;
	/* in a new store only incidents are taken of what was logged before */
	uint64_t begin_ns;
	/* Takes an entry over; is told of trouble with numbers. */
	void (*put)(void *context, struct kmsg_entry *entry);
	void (*trouble)(void *context, const struct error *error);
	void *context;
	/* the rest is kmsg-intake.c's, but for looks at it */
	struct classify classify;
	/* what recorders before us took */
	struct log_resume before;
	/* the log was read up to next_sequence */
	bool continues;
	/* to read the log into that store */
	bool first;
	uint64_t next_sequence;
	/* the last line's stamp */
	uint64_t last_ns;
	struct kmsg_bucket lines, incidents, users;
	uint64_t passed, passed_incidents, passed_since_ns;
	uint64_t id, ids_end, ids_count;
	/* the line at hand */
	struct kmsg_entry *entry;
	/* it is one's that is not trusted */
	bool of_user;
	/* incidents */
	uint64_t found;
	/* as they were at asked_ns, by the stamps */
	struct interrupts interrupts;
	uint64_t asked_ns;
	/* the last ones */
	struct kmsg_timeout timeouts[KMSG_TIMEOUTS];
	size_t next_timeout;
};

/* What is set above the line stays. */
void kmsg_intake_init(struct kmsg_intake *intake, const struct catalogue *catalogue);
void kmsg_intake_done(struct kmsg_intake *intake);

/*
 * Where to go on. Of another boot than the one before all is new; in a new store too, but of what
 * was logged before the begin only incidents are taken.
 */
int kmsg_intake_find(struct kmsg_intake *intake, const char *boot_id, struct error *error);
/* One record, as read() gives it. What is none is nothing. */
void kmsg_intake_take(struct kmsg_intake *intake, const char *data, size_t size);
/* An entry that no line of the log is behind; it is taken over. Nothing where the log's own line
 * tells of the same. */
void kmsg_intake_say(struct kmsg_intake *intake, struct kmsg_entry *entry);
/* Says what was passed over, if anything was. */
void kmsg_intake_say_passed(struct kmsg_intake *intake);
