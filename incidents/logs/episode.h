/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * An episode: incidents of one device and one family of kinds, each at most 30 s after the previous
 * one. A night of 9,467 resets is one episode. Its kind is the worst kind of its incidents; of
 * several equally bad kinds, the first one.
 */

#include "incidents/logs/scanner.h"

#define EPISODE_GAP_NS (30 * 1000000000ull)

struct episode {
	/* The ID of the first incident. */
	uint64_t id;
	const struct kind *kind;
	struct moment first, last;
	/* The longest stall that a line states. */
	uint64_t stall_ns;
	bool has_start, has_start_uptime;
	/* The earliest start of a stall, on the wall clock. */
	uint64_t start_ns;
	uint64_t start_uptime_ns;
	char device[64];
	/* The device's interface, if a line names the interface; or "". */
	char ifname[32];
	/* The task, if a line names one; or "". */
	char comm[32];
	bool has_cpu;
	/* With a queue, the CPU that served it. */
	uint64_t cpu;
	bool has_queue;
	uint64_t queue;
	uint64_t incidents;
	/* All lines of the episode are quoted; see struct fields. */
	bool quoted;
	/* All lines of the episode are doubtful; see struct incident. */
	bool doubtful;
	/* Number of resets that began. */
	uint64_t resets;
	uint32_t boot;
	/* The line of the first incident. */
	uint64_t line_number;
	/*
	 * The number of the last incident in the log. If times are absent, these numbers decide how
	 * far apart incidents are.
	 */
	uint64_t order;
};

struct episodes {
	/* In the order of the episodes' first incidents. */
	array_of(struct episode) list;
	/* The number of incidents so far. */
	uint64_t count;
};

/*
 * Adds an incident. *ret_episode, if not NULL, becomes the index of its episode. Returns 0 or
 * -ENOMEM. The episodes point to the catalogue's kinds.
 */
int episodes_add(struct episodes *episodes, const struct incident *incident, size_t *ret_episode);
void episodes_done(struct episodes *episodes);
