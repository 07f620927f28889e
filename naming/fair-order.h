/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The order in which the namer names the modules of a tape. The next module is from the cgroup that
 * has used the least time so far. So a cgroup with many slow files uses up only its own share of
 * the time for a tape, and the files of other cgroups get names. Private to naming/.
 */

#include "tape/tape.h"

/* The modules of one cgroup. */
struct fair_order_group {
	uint32_t cgroup;
	/* Indexes of `modules`: the next module, and the end of the group. */
	size_t next;
	size_t end;
	uint64_t used_ns;
};

/* Starts zeroed. */
struct fair_order {
	array_of(struct fair_order_group) groups;
	/* All modules except number 0, sorted by cgroup. */
	uint32_t *modules;
	/* The group of the present module. */
	size_t present;
};

/* Returns 0 or -ENOMEM. Call fair_order_done() in any case. */
int fair_order_init(struct fair_order *order, const struct tape *tape);
void fair_order_done(struct fair_order *order);
/* Sets *ret_module to the next module. Returns false after the last module. */
bool fair_order_next(struct fair_order *order, uint32_t *ret_module);
/* Adds the time that the present module took. */
void fair_order_charge(struct fair_order *order, uint64_t used_ns);

/* Returns a process that maps the module; 0 if unknown. */
int32_t fair_order_pid(const struct tape *tape, uint32_t module);
