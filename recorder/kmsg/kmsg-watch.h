/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads the kernel's log during a recording, in a separate thread. Lines and their incidents go
 * into the current tape, with stamps of the perf clock. Each line is taken only once, even by
 * several recorders one after the other, because the store has the position of the last line.
 *
 * Without trust_users, only lines of the kernel count (facility 0). The watch drops lines that come
 * too fast, and adds a line with their number. It also adds a line with the number of lines that
 * the kernel overwrote unread. Both lines have the facility of a logger.
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
	/* the descriptor to read instead of /dev/kmsg; -1: /dev/kmsg */
	int fd;
	/* the folder above /proc; NULL: "" */
	const char *root;
	/*
	 * The thread calls it for each incident, which is in the store a second later. May be NULL.
	 */
	void (*found)(void *context);
	void *context;
	/* The thread calls it with each thread that an incident names. May be NULL. */
	void (*named)(void *context, uint32_t tid);
	void *named_context;
};

/*
 * Starts the thread. In a store into which no recorder has read the log, lines before `begin_ns`
 * count only if they are incidents. Borrows the options until kmsg_watch_close(). Returns 0 or a
 * negative errno.
 */
int kmsg_watch_start(const struct kmsg_options *options, uint64_t begin_ns,
		     struct kmsg_watch **ret_watch);

/*
 * Puts the lines that the thread has read into the tape. Lines after the tape's end wait for the
 * next tape. An incident from before the tape's begin first becomes a note, which the thread
 * writes. `anchor` is the most recent anchor. For the draining thread; never waits. Returns 0 or
 * -ENOMEM.
 */
int kmsg_watch_take(struct kmsg_watch *watch, struct tape *tape, const struct tape_anchor *anchor);
/*
 * Reports a problem that the log may lack, as a line in the form of the log. The line becomes an
 * incident unless the log has the same incident. The stamp is of the perf clock. For the draining
 * thread; never waits.
 */
void kmsg_watch_report(struct kmsg_watch *watch, uint64_t stamp_ns, const char *line);
/*
 * Notes that the spool has reached `spooled_ns`, and that all lines taken so far will be on the
 * disk when the spool reaches `until_ns`. Never waits.
 */
void kmsg_watch_spooled(struct kmsg_watch *watch, uint64_t until_ns, uint64_t spooled_ns);
/* Returns the last trouble, or "". Never waits; leaves `trouble` as it is when the lock is busy. */
void kmsg_watch_trouble(struct kmsg_watch *watch, struct error *trouble);

/*
 * Reads the rest of the log and ends the thread. Afterwards, call kmsg_watch_take() for the last
 * time. Returns 0, or -ETIMEDOUT when the thread hangs in a file of the store for longer than
 * `patience_ns`. After -ETIMEDOUT, the caller may call kmsg_watch_take() and kmsg_watch_stop()
 * again, but not kmsg_watch_close().
 */
int kmsg_watch_stop(struct kmsg_watch *watch, uint64_t patience_ns);
/*
 * Frees a watch that was stopped. `sealed`: all lines that kmsg_watch_take() took are on the disk.
 * The next recorder takes the other lines.
 */
struct kmsg_watch *kmsg_watch_close(struct kmsg_watch *watch, bool sealed);
