/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The kinds of paths under which cgroups are dying (recorder/trace/dead-cgroups.h): how many of
 * each, and who made and removed them. There is room for DYING_KINDS; the last one is that of all
 * others.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "recorder/trace/dead-cgroups-fold.h"

#define DEAD_CGROUPS_KINDS 256
#define DYING_COMM_SIZE 16
#define DYING_NO_KIND UINT32_MAX

/* So many makers and removers are told apart; who comes when all places are taken takes the one
 * that counts least. */
#define DYING_WHOS 4

struct dying_who {
	char comm[DYING_COMM_SIZE];
	/* of one of them */
	uint32_t pid;
	uint64_t count;
};

/* A process that makes or removes one. */
struct dying_by {
	/* "": it was not seen */
	const char *comm;
	uint32_t pid;
};

struct dying_kind {
	char text[DYING_PREFIX_SIZE];
	uint64_t count;
	/* those of them that are only counted */
	uint64_t beyond;
	struct dying_who makers[DYING_WHOS], removers[DYING_WHOS];
	/* of who tells of it */
	/* + 1 */
	uint32_t count_row, oldest_row;
	/* the gauges' last points were not 0 */
	bool told;
	/* in the last event */
	uint64_t told_count;
};

struct dead_cgroups_kinds {
	array_of(struct dying_kind) list;
};

void dead_cgroups_kinds_done(struct dead_cgroups_kinds *kinds);

/*
 * The kind of a path that was removed, made where there is none. `joined` has those whose cgroups
 * are of this kind from now on: it has as many as `ret_joined` says, DYING_KINDS at most. 0 or
 * -ENOMEM.
 */
int dead_cgroups_kinds_get(struct dead_cgroups_kinds *kinds, const char *path, uint32_t *ret_kind,
			   uint32_t joined[DEAD_CGROUPS_KINDS], size_t *ret_joined);
/* The one that a path would be counted under among those that there are; DYING_NO_KIND: none. */
uint32_t dead_cgroups_kinds_find(const struct dead_cgroups_kinds *kinds, const char *path);
/* The one of all others; DYING_NO_KIND: none is needed so far. */
uint32_t dead_cgroups_kinds_others(const struct dead_cgroups_kinds *kinds);

void dying_count_who(struct dying_who whos[DYING_WHOS], const struct dying_by *by, uint64_t count);
/* Who counts most; "": nobody was seen. */
const struct dying_who *dying_most(const struct dying_who whos[DYING_WHOS]);
