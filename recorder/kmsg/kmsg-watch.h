/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Watches the kernel's log while it is recorded, in a thread of its own: lines go into the tape at
 * hand, and what they tell of with them. Their stamps are of the clock that samples have. A line is
 * taken once, whoever recorded before: the store knows how far the log was read.
 *
 * Only what the kernel says counts (facility 0), unless users are trusted. What comes too fast is
 * passed over, and a line says how much that was; so does one where lines were overwritten before
 * they could be read. Both have the facility of a logger.
 *
 *   start -> (take ... spooled) ... -> stop -> take -> close
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "incidents/patterns/catalogue.h"
#include "tape/tape.h"

struct kmsg_watch;

struct kmsg_options {
	const struct catalogue *catalogue;
	const char *store;
	const char *boot_id;
	bool trust_users;
	/* to read records from instead of /dev/kmsg; -1: that */
	int fd;
	/* that /proc is below; NULL: "" */
	const char *root;
	/* Called in the thread when an incident was found, to be in the store a second later. May
	 * be NULL. */
	void (*found)(void *context);
	void *context;
};

/*
 * Where nothing was ever taken, of what was logged before the begin only the incidents are. The
 * options are borrowed. 0; a negative errno.
 */
int kmsg_watch_start(const struct kmsg_options *options, uint64_t begin_ns,
		     struct kmsg_watch **ret_watch);

/*
 * For the thread that drains: never waits. Puts what was read into the tape; lines from behind its
 * end wait for the next one. An incident from before its begin becomes a note first, in the other
 * thread. The anchor is the last one. 0 or -ENOMEM.
 */
int kmsg_watch_take(struct kmsg_watch *watch, struct tape *tape, const struct tape_anchor *anchor);
/*
 * Something that the log may have no line of, as it might have said it: what it tells of becomes an
 * incident, unless the log's own line does. For the thread that drains, with the stamp of the perf
 * clock; never waits.
 */
void kmsg_watch_say(struct kmsg_watch *watch, uint64_t stamp_ns, const char *line);
/* All that was taken will be on the disk when the spool reaches until_ns; it is there up to
 * spooled_ns. Never waits. */
void kmsg_watch_spooled(struct kmsg_watch *watch, uint64_t until_ns, uint64_t spooled_ns);
/* "" or the last trouble. Never waits: then it is what it was. */
void kmsg_watch_trouble(struct kmsg_watch *watch, struct error *trouble);

/*
 * Reads what there is, ends the thread; then it can be taken for the last time. 0; -ETIMEDOUT when
 * the thread hangs in a file of the store for longer than that: then what it has read can be taken,
 * and it can be stopped again, but not closed.
 */
int kmsg_watch_stop(struct kmsg_watch *watch, uint64_t patience_ns);
/* Of one that was stopped. `sealed`: all that was taken is on the disk. What was not taken is, by
 * who records next. */
struct kmsg_watch *kmsg_watch_close(struct kmsg_watch *watch, bool sealed);
