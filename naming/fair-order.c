// SPDX-License-Identifier: GPL-2.0-only
#include "naming/fair-order.h"

#include <stdlib.h>

#include "base/cleanup.h"

struct owned {
	uint32_t cgroup;
	uint32_t module;
};

struct member {
	int32_t pid;
	uint32_t cgroup;
};

int32_t fair_order_pid(const struct tape *tape, uint32_t module)
{
	return module < tape->pids.count ? tape->pids.items[module] : 0;
}

static int fair_order_compare_members(const void *a, const void *b)
{
	const struct member *one = a, *other = b;

	return (one->pid > other->pid) - (one->pid < other->pid);
}

static int fair_order_compare_owned(const void *a, const void *b)
{
	const struct owned *one = a, *other = b;

	if (one->cgroup != other->cgroup)
		return one->cgroup < other->cgroup ? -1 : 1;
	return (one->module > other->module) - (one->module < other->module);
}

/* Lists the cgroups of all processes, sorted by pid. */
static struct member *list_members(const struct tape *tape)
{
	struct member *members = calloc(tape->threads.count + 1, sizeof(*members));

	for (size_t i = 0; members && i < tape->threads.count; i++)
		members[i] = (struct member){ tape->threads.items[i].pid,
					      tape->threads.items[i].cgroup };
	if (members)
		qsort(members, tape->threads.count, sizeof(*members), fair_order_compare_members);
	return members;
}

/* Returns the cgroup of a process, or 0. */
static uint32_t cgroup_of(const struct member *members, size_t count, int32_t pid)
{
	const struct member key = { .pid = pid };
	const struct member *found =
		count ? bsearch(&key, members, count, sizeof(key), fair_order_compare_members)
		      : NULL;

	return found && pid ? found->cgroup : 0;
}

static int fair_order_add_group(struct fair_order *order, const struct owned *owned, size_t at)
{
	const struct fair_order_group group = { owned->cgroup, at, at, 0 };

	if (order->groups.count &&
	    order->groups.items[order->groups.count - 1].cgroup == owned->cgroup)
		return 0;
	return array_push(&order->groups, group);
}

int fair_order_init(struct fair_order *order, const struct tape *tape)
{
	size_t count = tape->modules.count - 1;
	_cleanup_free_ struct owned *owned = calloc(count + 1, sizeof(*owned));
	_cleanup_free_ struct member *members = list_members(tape);
	int r = 0;

	order->modules = calloc(count + 1, sizeof(*order->modules));
	if (!owned || !members || !order->modules)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		owned[i] = (struct owned){
			cgroup_of(members, tape->threads.count, fair_order_pid(tape, i + 1)), i + 1
		};
	qsort(owned, count, sizeof(*owned), fair_order_compare_owned);
	for (size_t i = 0; r == 0 && i < count; i++) {
		order->modules[i] = owned[i].module;
		r = fair_order_add_group(order, &owned[i], i);
		if (r < 0)
			return r;
		order->groups.items[order->groups.count - 1].end = i + 1;
	}
	return r;
}

void fair_order_done(struct fair_order *order)
{
	array_done(&order->groups);
	free(order->modules);
}

bool fair_order_next(struct fair_order *order, uint32_t *ret_module)
{
	struct fair_order_group *best = NULL;

	for (size_t i = 0; i < order->groups.count; i++) {
		struct fair_order_group *group = &order->groups.items[i];

		if (group->next < group->end && (!best || group->used_ns < best->used_ns))
			best = group;
	}
	if (!best)
		return false;
	order->present = best - order->groups.items;
	*ret_module = order->modules[best->next++];
	return true;
}

void fair_order_charge(struct fair_order *order, uint64_t used_ns)
{
	order->groups.items[order->present].used_ns += used_ns;
}
