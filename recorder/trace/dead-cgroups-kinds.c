// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/dead-cgroups-kinds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/*
 * The least number of paths that become one kind when they differ only in one number. "eth0" and
 * "eth1" are names, but "task1" to "task4" are numbered.
 */
#define ALIKE 4

/*
 * The greatest number of numbers in one path that are tried. Each try searches all kinds, and a
 * hostile program may name the cgroup.
 */
#define NUMBERS_MAX 8

#define OTHERS "/(others)"

void dead_cgroups_kinds_done(struct dead_cgroups_kinds *kinds)
{
	array_done(&kinds->list);
}

void dying_actors_count(struct dying_actor actors[DYING_ACTORS], const struct dying_process *by,
			uint64_t count)
{
	struct dying_actor *least = &actors[0];

	if (!*by->comm || !count)
		return;
	for (size_t i = 0; i < DYING_ACTORS; i++) {
		if (strcmp(actors[i].comm, by->comm) == 0) {
			actors[i].count += count;
			actors[i].pid = by->pid;
			return;
		}
		if (actors[i].count < least->count)
			least = &actors[i];
	}
	*least = (struct dying_actor){ .pid = by->pid, .count = count };
	snprintf(least->comm, sizeof(least->comm), "%s", by->comm);
}

const struct dying_actor *dying_actors_most(const struct dying_actor actors[DYING_ACTORS])
{
	const struct dying_actor *best = &actors[0];

	for (size_t i = 1; i < DYING_ACTORS; i++)
		if (actors[i].count > best->count)
			best = &actors[i];
	return best;
}

static bool is_needed(const struct dying_kind *kind)
{
	return kind->count || kind->gauged;
}

static uint32_t dead_cgroups_kinds_find_text(const struct dead_cgroups_kinds *kinds,
					     const char *text)
{
	for (size_t i = 0; i < kinds->list.count; i++)
		if (strcmp(kinds->list.items[i].text, text) == 0)
			return i;
	return DYING_NO_KIND;
}

static bool fold_number(const char *narrow, size_t at, char wide[DYING_PREFIX_SIZE])
{
	return at < NUMBERS_MAX && dead_cgroups_fold_number(narrow, at, wide);
}

/*
 * Returns the kind of a folded path: the kind with this text, or a kind in which one more number of
 * the path is folded.
 */
static uint32_t dead_cgroups_kinds_find_kind(const struct dead_cgroups_kinds *kinds,
					     const char *narrow)
{
	uint32_t kind = dead_cgroups_kinds_find_text(kinds, narrow);
	char wide[DYING_PREFIX_SIZE];

	for (size_t i = 0; kind == DYING_NO_KIND && fold_number(narrow, i, wide); i++)
		kind = dead_cgroups_kinds_find_text(kinds, wide);
	return kind;
}

uint32_t dead_cgroups_kinds_find(const struct dead_cgroups_kinds *kinds, const char *path)
{
	char narrow[DYING_PREFIX_SIZE];

	dead_cgroups_fold(path, narrow);
	return dead_cgroups_kinds_find_kind(kinds, narrow);
}

uint32_t dead_cgroups_kinds_others(const struct dead_cgroups_kinds *kinds)
{
	return kinds->list.count == DEAD_CGROUPS_KINDS ? DEAD_CGROUPS_KINDS - 1 : DYING_NO_KIND;
}

/* Sets *ret_kind to a free row of the list, or to a new one. */
static int dead_cgroups_kinds_add_kind(struct dead_cgroups_kinds *kinds, const char *text,
				       uint32_t *ret_kind)
{
	static const struct dying_kind fresh;
	size_t at = 0;

	while (at < kinds->list.count && is_needed(&kinds->list.items[at]))
		at++;
	if (at == DEAD_CGROUPS_KINDS) {
		*ret_kind = DEAD_CGROUPS_KINDS - 1;
		return 0;
	}
	if (at == kinds->list.count && array_push(&kinds->list, fresh) < 0)
		return -ENOMEM;
	kinds->list.items[at] = fresh;
	snprintf(kinds->list.items[at].text, DYING_PREFIX_SIZE, "%s",
		 at == DEAD_CGROUPS_KINDS - 1 ? OTHERS : text);
	*ret_kind = at;
	return 0;
}

/*
 * Returns whether the text has a number where `wide` has a star at index `star`, and is otherwise
 * the same.
 */
static bool is_alike(const char *text, const char *wide, size_t star)
{
	size_t number = strncmp(text, wide, star) == 0 ? strspn(text + star, "0123456789") : 0;

	return number && strcmp(text + star + number, wide + star + 1) == 0;
}

/* Finds the kinds that differ from a folded path only in the number that `wide` folds. */
static size_t find_alike(const struct dead_cgroups_kinds *kinds, const char *narrow,
			 const char *wide, uint32_t alike[DEAD_CGROUPS_KINDS])
{
	size_t star = 0, count = 0;

	while (narrow[star] == wide[star])
		star++;
	for (size_t i = 0; i < kinds->list.count; i++)
		if (kinds->list.items[i].count && is_alike(kinds->list.items[i].text, wide, star))
			alike[count++] = i;
	return count;
}

static void merge_actors(struct dying_actor to[DYING_ACTORS],
			 const struct dying_actor from[DYING_ACTORS])
{
	for (size_t i = 0; i < DYING_ACTORS; i++)
		dying_actors_count(to, &(struct dying_process){ from[i].comm, from[i].pid },
				   from[i].count);
}

/*
 * Joins several kinds. The first of them becomes the wide kind, with new gauges; the gauges of the
 * others end.
 */
static uint32_t dead_cgroups_kinds_join(struct dead_cgroups_kinds *kinds, const char *wide,
					const uint32_t joined[DEAD_CGROUPS_KINDS], size_t count)
{
	struct dying_kind *into = &kinds->list.items[joined[0]];

	for (size_t i = 1; i < count; i++) {
		struct dying_kind *kind = &kinds->list.items[joined[i]];

		into->count += kind->count;
		into->beyond += kind->beyond;
		merge_actors(into->makers, kind->makers);
		merge_actors(into->removers, kind->removers);
		*kind = (struct dying_kind){ .count = 0 };
	}
	snprintf(into->text, sizeof(into->text), "%s", wide);
	into->count_row = into->oldest_row = 0;
	into->gauged = false;
	into->event_count = 0;
	return joined[0];
}

int dead_cgroups_kinds_get(struct dead_cgroups_kinds *kinds, const char *path, uint32_t *ret_kind,
			   uint32_t joined[DEAD_CGROUPS_KINDS], size_t *ret_joined)
{
	char narrow[DYING_PREFIX_SIZE], wide[DYING_PREFIX_SIZE];

	*ret_joined = 0;
	dead_cgroups_fold(path, narrow);
	*ret_kind = dead_cgroups_kinds_find_kind(kinds, narrow);
	if (*ret_kind != DYING_NO_KIND)
		return 0;
	for (size_t i = 0; fold_number(narrow, i, wide); i++) {
		*ret_joined = find_alike(kinds, narrow, wide, joined);
		if (*ret_joined + 1 >= ALIKE) {
			*ret_kind = dead_cgroups_kinds_join(kinds, wide, joined, *ret_joined);
			return 0;
		}
	}
	*ret_joined = 0;
	return dead_cgroups_kinds_add_kind(kinds, narrow, ret_kind);
}
