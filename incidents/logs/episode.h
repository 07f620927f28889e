/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Incidents that are one story: of one device and one family of kinds, none more than 30 s behind
 * the one before. A night of 9,467 resets is one episode. What an episode is called is the worst
 * kind in it, the first of equals.
 */

#include "incidents/logs/scanner.h"

#define EPISODE_GAP_NS (30 * 1000000000ull)

struct episode {
	/* of its first incident */
	uint64_t id;
	const struct kind *kind;
	struct moment first, last;
	/* the longest that a line said */
	uint64_t stall_ns;
	bool has_start, has_start_uptime;
	/* wall clock: the earliest that a line reaches back to */
	uint64_t start_ns;
	uint64_t start_uptime_ns;
	char device[64];
	/* its interface, where a line names it */
	char ifname[32];
	/* the task, where a line names one */
	char comm[32];
	bool has_cpu;
	/* that served the queue, if there is one */
	uint64_t cpu;
	bool has_queue;
	uint64_t queue;
	uint64_t incidents;
	/* how often one began */
	uint64_t resets;
	uint32_t boot;
	/* of the first */
	uint64_t line_number;
	/* of its last incident among all; for what has no time */
	uint64_t order;
};

struct episodes {
	/* in the order of their first incidents */
	array_of(struct episode) list;
	/* of incidents */
	uint64_t count;
};

/* 0 or -ENOMEM. *ret_episode is where it went; NULL is taken. Kinds are the catalogue's. */
int episodes_add(struct episodes *episodes, const struct incident *incident, size_t *ret_episode);
void episodes_done(struct episodes *episodes);
