/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Incidents that are one story: of one device and one family of kinds, none more than 30 s behind the one before. A night of 9,467 resets is
 * one episode. What an episode is called is the worst kind in it, the first of equals.
 */

#include "incidents/logs/scanner.h"

#define EPISODE_GAP_NS (30 * 1000000000ull)

struct episode {
	uint64_t id; /* of its first incident */
	const struct kind *kind;
	struct moment first, last;
	uint64_t stall_ns; /* the longest that a line said */
	bool has_start, has_start_uptime;
	uint64_t start_ns; /* wall clock: the earliest that a line reaches back to */
	uint64_t start_uptime_ns;
	char device[64];
	char ifname[32]; /* its interface, where a line names it */
	char comm[32]; /* the task, where a line names one */
	bool has_cpu;
	uint64_t cpu; /* that served the queue, if there is one */
	bool has_queue;
	uint64_t queue;
	uint64_t incidents;
	uint64_t resets; /* how often one began */
	uint32_t boot;
	uint64_t line_number; /* of the first */
	uint64_t order; /* of its last incident among all; for what has no time */
};

struct episodes {
	array_of(struct episode) list; /* in the order of their first incidents */
	uint64_t count; /* of incidents */
};

/* 0 or -ENOMEM. *ret_episode is where it went; NULL is taken. Kinds are the catalogue's. */
int episodes_add(struct episodes *episodes, const struct incident *incident, size_t *ret_episode);
void episodes_done(struct episodes *episodes);
