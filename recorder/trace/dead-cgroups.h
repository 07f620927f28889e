/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Counts dying cgroups: those that were removed and still exist in the kernel. Memory that is
 * charged to a cgroup keeps the cgroup alive after its directory is gone. The kernel walks all
 * dying cgroups when it reclaims memory. So a unit that leaks one cgroup at each start slows down
 * the whole host in the end. This object reads the kernel's mkdir, rmdir and release events. It
 * knows the number of dying cgroups under each kind of path, and since when they are dying. It also
 * knows the programs that made and removed them.
 *
 * A kind of path is the first components of a path, with numbers and ids folded
 * (recorder/trace/dead-cgroups-fold.h): "/kubepods/burstable/pod*". Four paths that differ only in
 * one number within a word, among their first eight numbers, become one kind: "/leak/task*". All
 * hierarchies of cgroup v1 count together. Memory is bounded: beyond DEAD_CGROUPS_MAX entries the
 * object only counts, and beyond DEAD_CGROUPS_KINDS kinds the last kind counts all others.
 *
 * The object counts from its first event on; it does not know cgroups that were removed before.
 * Each lost record makes the count unsure by one. When more than a tenth of the count is unsure,
 * the object forgets everything and starts over; its gauges then have a gap, not a 0.
 */

#include <stddef.h>
#include <stdint.h>

#include "recorder/trace/dead-cgroups-kinds.h"
#include "tape/tape.h"

#define DEAD_CGROUPS_MAX 131072

struct dead_cgroups;

/* The kernel's numbers of a cgroup and of its hierarchy. */
struct dead_cgroups_key {
	uint64_t root;
	uint64_t id;
};

/* The dying cgroups of one kind of path. */
struct dead_cgroups_sum {
	char prefix[DYING_PREFIX_SIZE];
	uint64_t count;
	/* the time at which the oldest cgroup was removed; 0: not known */
	uint64_t since_ns;
	/* the programs that made and removed most of them; "": not seen */
	struct dying_actor made_by, removed_by;
};

/* The state when dead_cgroups_give() last put gauges. */
#define DEAD_CGROUPS_REPORT_MAX 8
struct dead_cgroups_report {
	/* 0: no gauges so far */
	uint64_t at_ns;
	/* the begin of the counting; cgroups that were removed earlier are not known */
	uint64_t since_ns;
	/* the number of cgroups that have been dying for at least a second */
	uint64_t count;
	/* the number of kinds; `sums` has the first of them */
	size_t kinds;
	struct dead_cgroups_sum sums[DEAD_CGROUPS_REPORT_MAX];
	/* number of trace events lost since `since_ns`; `count` may be wrong by this number */
	uint64_t unsure;
	/*
	 * lost trace events that made the counting start over at `since_ns`; 0: it did not start
	 * over
	 */
	uint64_t lost;
};

/* Creates an object without cgroups. Returns 0 or -ENOMEM. */
int dead_cgroups_new(struct dead_cgroups **ret_dying);
struct dead_cgroups *dead_cgroups_free(struct dead_cgroups *dying);

/*
 * These functions take one event each, in time order, and return 0 or -ENOMEM. A new cgroup with
 * the number of a dying cgroup shows that the dying one is gone.
 */
int dead_cgroups_made(struct dead_cgroups *dying, const struct dead_cgroups_key *key,
		      const struct dying_process *by);
int dead_cgroups_removed(struct dead_cgroups *dying, const struct dead_cgroups_key *key,
			 const char *path, const struct dying_process *by, uint64_t time_ns);
void dead_cgroups_gone(struct dead_cgroups *dying, const struct dead_cgroups_key *key,
		       const char *path);
/* Notes lost records, because of which dying cgroups may be gone, and others may be dying. */
void dead_cgroups_lost(struct dead_cgroups *dying, uint64_t count, uint64_t time_ns);

/*
 * Copies at most `most` sums, highest count first. Returns the number of kinds with dying cgroups.
 */
size_t dead_cgroups_sums(const struct dead_cgroups *dying, struct dead_cgroups_sum *sums,
			 size_t most);

/*
 * Puts the counts of cgroups that have been dying for at least a second into the tape. Puts gauges
 * every ten seconds and events (tape/tape-events.h) every minute, and both at the begin of each
 * tape. Also puts events with the gauges when a kind is new, has doubled, or has another maker
 * since its last event. Returns 0 or -ENOMEM.
 */
int dead_cgroups_give(struct dead_cgroups *dying, struct tape *tape, uint64_t now_ns);
/*
 * Returns a text such as "1234 under /ecs/task, made by ecs-agent, the oldest for 3 h", or "". The
 * text describes the last gauges, and the uncertainty because of lost records. Valid until the next
 * dead_cgroups_give().
 */
#define DEAD_CGROUPS_TEXT_SIZE 480
const char *dead_cgroups_text(const struct dead_cgroups *dying);
const struct dead_cgroups_report *dead_cgroups_report(const struct dead_cgroups *dying);
