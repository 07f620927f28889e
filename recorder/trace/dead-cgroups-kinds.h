/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The kinds of paths under which cgroups are dying (recorder/trace/dead-cgroups.h). Each kind has
 * the number of its cgroups and the programs that made and removed them. At most DEAD_CGROUPS_KINDS
 * kinds exist; the last one counts all cgroups of other kinds.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "recorder/trace/dead-cgroups-fold.h"

#define DEAD_CGROUPS_KINDS 256
#define DYING_COMM_SIZE 16
#define DYING_NO_KIND UINT32_MAX

/*
 * The number of makers, and of removers, that have separate counts. When all entries are in use, a
 * new program replaces the one with the lowest count.
 */
#define DYING_ACTORS 4

struct dying_actor {
	char comm[DYING_COMM_SIZE];
	/* the pid of one process with that name */
	uint32_t pid;
	uint64_t count;
};

/* A process that makes or removes a cgroup. */
struct dying_process {
	/* "": not seen */
	const char *comm;
	uint32_t pid;
};

struct dying_kind {
	char text[DYING_PREFIX_SIZE];
	uint64_t count;
	/* the part of `count` without entries (dead-cgroups.c) */
	uint64_t beyond;
	struct dying_actor makers[DYING_ACTORS], removers[DYING_ACTORS];
	/* rows of the gauges, + 1 */
	uint32_t count_row, oldest_row;
	/* the last points of the gauges were not 0 */
	bool gauged;
	/* the count and the most frequent maker in the last event */
	uint64_t event_count;
	char event_maker[DYING_COMM_SIZE];
};

struct dead_cgroups_kinds {
	array_of(struct dying_kind) list;
};

void dead_cgroups_kinds_done(struct dead_cgroups_kinds *kinds);

/*
 * Finds or makes the kind of a removed path. If a new wide kind replaces other kinds, sets `joined`
 * to these kinds, and *ret_joined to their number, at most DEAD_CGROUPS_KINDS. Returns 0 or
 * -ENOMEM.
 */
int dead_cgroups_kinds_get(struct dead_cgroups_kinds *kinds, const char *path, uint32_t *ret_kind,
			   uint32_t joined[DEAD_CGROUPS_KINDS], size_t *ret_joined);
/* Returns the kind that counts this path; DYING_NO_KIND: no kind counts it. */
uint32_t dead_cgroups_kinds_find(const struct dead_cgroups_kinds *kinds, const char *path);
/* Returns the kind that counts all other kinds; DYING_NO_KIND: it does not exist yet. */
uint32_t dead_cgroups_kinds_others(const struct dead_cgroups_kinds *kinds);

void dying_actors_count(struct dying_actor actors[DYING_ACTORS], const struct dying_process *by,
			uint64_t count);
/* Returns the entry with the highest count; its name is "" when no program was seen. */
const struct dying_actor *dying_actors_most(const struct dying_actor actors[DYING_ACTORS]);
