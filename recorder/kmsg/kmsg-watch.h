/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads the kernel's log while samples are taken, in a thread of its own. Lines and their incidents
 * go into the current tape, with stamps of the samples' clock. Each line is taken once, also across
 * recorders: the store knows how far the log was read.
 *
 * Only lines of the kernel count (facility 0), unless users are trusted. Lines that come too fast
 * are dropped, and a line reports how many. A line also reports how many were overwritten unread.
 * Both have the facility of a logger.
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
	/* read from this instead of /dev/kmsg; -1: /dev/kmsg */
	int fd;
	/* the folder above /proc; NULL: "" */
	const char *root;
	/*
	 * Called in the thread for each incident, which is in the store a second later. May be
	 * NULL.
	 */
	void (*found)(void *context);
	void *context;
};

/*
 * Starts the thread. If no recorder ever read the log into this store, only incidents are taken
 * from before `begin_ns`. The options are borrowed until kmsg_watch_close(). Returns 0 or a
 * negative errno.
 */
int kmsg_watch_start(const struct kmsg_options *options, uint64_t begin_ns,
		     struct kmsg_watch **ret_watch);

/*
 * Puts the lines that were read into the tape. Lines after the tape's end wait for the next tape.
 * An incident from before the tape's begin first becomes a note, which the thread writes. `anchor`
 * is the most recent one. For the draining thread; never waits. Returns 0 or -ENOMEM.
 */
int kmsg_watch_take(struct kmsg_watch *watch, struct tape *tape, const struct tape_anchor *anchor);
/*
 * Reports a problem that the log may lack, as a line in the form of the log. The line becomes an
 * incident unless the log has the same one. The stamp is of the perf clock. For the draining
 * thread; never waits.
 */
void kmsg_watch_report(struct kmsg_watch *watch, uint64_t stamp_ns, const char *line);
/*
 * Notes that all lines taken so far are on the disk when the spool reaches `until_ns`, and that the
 * spool has reached `spooled_ns`. Never waits.
 */
void kmsg_watch_spooled(struct kmsg_watch *watch, uint64_t until_ns, uint64_t spooled_ns);
/* Returns the last trouble, or "". Never waits; leaves `trouble` as it is when the lock is busy. */
void kmsg_watch_trouble(struct kmsg_watch *watch, struct error *trouble);

/*
 * Reads the rest of the log and ends the thread; then kmsg_watch_take() can be called for the last
 * time. Returns 0, or -ETIMEDOUT when the thread hangs in a file of the store for longer than
 * `patience_ns`. Then kmsg_watch_take() and kmsg_watch_stop() may be called again, but not
 * kmsg_watch_close().
 */
int kmsg_watch_stop(struct kmsg_watch *watch, uint64_t patience_ns);
/*
 * Frees a watch that was stopped. `sealed` means that all lines that were taken are on the disk.
 * The next recorder takes the other lines.
 */
struct kmsg_watch *kmsg_watch_close(struct kmsg_watch *watch, bool sealed);
