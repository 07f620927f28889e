/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Cgroups that were removed and are not gone. What is charged to one keeps it alive behind the
 * directory's back; the kernel walks all of them when it reclaims, so a unit that leaks one at each
 * start slows the whole host down in the end. Fed with what the kernel tells of mkdir, rmdir and
 * release, it knows under which kind of path they die, how many, since when, and who made and
 * removed them.
 *
 * A kind of path is its first components with what is a number or an id in them folded
 * (recorder/trace/dead-cgroups-fold.h): "/kubepods/burstable/pod*". Where four of them are alike
 * but for one number in their words, of the first eight, they are one, "/leak/task*". All
 * hierarchies of cgroup v1 count together. What is remembered is bounded: beyond DYING_MAX it is
 * only counted, and beyond DYING_KINDS kinds of path the rest are one.
 *
 * It counts from its first look on: what was removed before is not known to it. Lost records make
 * it unsure by as many. Where that is more than a tenth of what it counts, it forgets all and
 * begins anew, and its gauges have a gap and not a 0.
 */

#include <stddef.h>
#include <stdint.h>

#include "recorder/trace/dead-cgroups-kinds.h"
#include "tape/tape.h"

#define DEAD_CGROUPS_MAX 131072

struct dead_cgroups;

/* Which cgroup: numbers of the kernel's. */
struct dead_cgroups_key {
	uint64_t root;
	uint64_t id;
};

/* What is dying under one kind of path. */
struct dead_cgroups_sum {
	char prefix[DYING_PREFIX_SIZE];
	uint64_t count;
	/* when the oldest was removed; 0: not known */
	uint64_t since_ns;
	/* who made and who removed most of them, as far as that was seen; "" */
	struct dying_who made_by, removed_by;
};

/* As it was when gauges were put. */
#define DEAD_CGROUPS_TOLD_MAX 8
struct dead_cgroups_told {
	/* 0: none were yet */
	uint64_t at_ns;
	/* what was removed before is not known */
	uint64_t since_ns;
	/* of all that have been dying for a second at least */
	uint64_t count;
	/* of paths, and the first of them */
	size_t kinds;
	struct dead_cgroups_sum sums[DEAD_CGROUPS_TOLD_MAX];
	/* so many more or fewer it may be: trace events that were lost since */
	uint64_t unsure;
	/* trace events for which it began anew at `since_ns`; 0: it did not */
	uint64_t lost;
};

/* 0 or -ENOMEM. */
int dead_cgroups_new(struct dead_cgroups **ret_dying);
struct dead_cgroups *dead_cgroups_free(struct dead_cgroups *dying);

/* In time order, each 0 or -ENOMEM. What is made under the number of one that was dying says that
 * this one is gone. */
int dead_cgroups_made(struct dead_cgroups *dying, const struct dead_cgroups_key *key,
		      const struct dying_by *by);
int dead_cgroups_removed(struct dead_cgroups *dying, const struct dead_cgroups_key *key,
			 const char *path, const struct dying_by *by, uint64_t time_ns);
void dead_cgroups_gone(struct dead_cgroups *dying, const struct dead_cgroups_key *key,
		       const char *path);
/* So many records were lost: what it remembers may be gone by now, and others may be dying. */
void dead_cgroups_lost(struct dead_cgroups *dying, uint64_t count, uint64_t time_ns);

/* Those under which something is dying, the most first: at most so many. Gives how many there were.
 */
size_t dead_cgroups_sums(const struct dead_cgroups *dying, struct dead_cgroups_sum *sums,
			 size_t most);

/*
 * Puts into the tape what has been dying for a second at least, now and then: gauges each ten
 * seconds, each minute an event (tape/tape-events.h), and with the gauges too where a kind of path
 * is new or has twice as many as in its last event. 0 or -ENOMEM.
 */
int dead_cgroups_give(struct dead_cgroups *dying, struct tape *tape, uint64_t now_ns);
/*
 * "1234 under /ecs/task, made by ecs-agent, the oldest for 3 h" as it was when the gauges were put,
 * with what lost records leave unknown, or "".
 */
#define DEAD_CGROUPS_TEXT_SIZE 480
const char *dead_cgroups_text(const struct dead_cgroups *dying);
const struct dead_cgroups_told *dead_cgroups_told(const struct dead_cgroups *dying);
