// SPDX-License-Identifier: GPL-2.0-only
#include "query/coverage/recorded-cpus.h"

#include <errno.h>

/*
 * Returns true if the tape has any samples or losses of this CPU. An offline CPU has at least a
 * loss.
 */
static bool has_cpu(const struct tape *tape, const struct cpu_set_filter *online, uint32_t cpu)
{
	bool has = cpu_filter_passes(online, cpu);

	for (size_t i = 0; !has && i < tape->losses.count; i++)
		has = tape->losses.items[i].cpu == cpu;
	for (size_t i = 0; !has && i < tape->samples.count; i++)
		has = tape->samples.items[i].cpu == cpu;
	return has;
}

/*
 * Handles a tape that records all CPUs. Selected CPUs that the host does not have count as left
 * out.
 */
static int add_all_cpus(struct coverage_parts *parts, const struct cpu_set_filter *asked,
			const struct tape *tape)
{
	_cleanup_(cpu_filter_done) struct cpu_set_filter online = { 0 };
	const char *list = tape_fact(tape, "cpus_online");
	bool whole = true, some = !asked->wanted.count;

	if (cpu_filter_parse(list, &online, NULL) < 0) {
		parts->all_recorded = parts->asked_recorded = true;
		return 0;
	}
	for (uint32_t cpu = 0; cpu < asked->wanted.count; cpu++) {
		if (!asked->wanted.items[cpu])
			continue;
		if (has_cpu(tape, &online, cpu))
			some = true;
		else if (cpu_filter_add(&parts->left_out, cpu) < 0)
			return -ENOMEM;
		else
			whole = false;
	}
	parts->asked_recorded |= some;
	parts->all_recorded |= whole;
	for (uint32_t cpu = 0; !whole && cpu < online.wanted.count; cpu++)
		if (online.wanted.items[cpu] && cpu_filter_add(&parts->recorded, cpu) < 0)
			return -ENOMEM;
	return 0;
}

/* Adds the CPUs that a tape records. Ignores a list of CPUs that cannot be parsed. */
int recorded_cpus_add(struct coverage_parts *parts, const struct cpu_set_filter *asked,
		      const struct tape *tape)
{
	_cleanup_(cpu_filter_done) struct cpu_set_filter listed = { 0 }, online = { 0 };
	const struct cpu_set_filter *host = asked->wanted.count ? asked : &online;

	if (cpu_filter_parse(tape_fact(tape, "cpu_list"), &listed, NULL) < 0)
		return add_all_cpus(parts, asked, tape);
	cpu_filter_parse(tape_fact(tape, "cpus_online"), &online, NULL);
	for (uint32_t cpu = 0; cpu < MAX(host->wanted.count, listed.wanted.count); cpu++) {
		bool is_listed = cpu_filter_passes(&listed, cpu);
		bool is_left_out = !is_listed && host->wanted.count && cpu_filter_passes(host, cpu);

		if (is_listed && cpu_filter_passes(asked, cpu))
			parts->asked_recorded = true;
		if ((is_listed && cpu_filter_add(&parts->recorded, cpu) < 0) ||
		    (is_left_out && cpu_filter_add(&parts->left_out, cpu) < 0))
			return -ENOMEM;
	}
	return 0;
}

int recorded_cpus_finish(struct coverage *coverage, const struct coverage_parts *parts)
{
	const struct cpu_set_filter *left_out = &parts->left_out;

	if (!left_out->wanted.count)
		return 0;
	coverage->left_out_in_part = parts->all_recorded;
	for (uint32_t cpu = 0; cpu < left_out->wanted.count; cpu++)
		if (left_out->wanted.items[cpu] && cpu_filter_passes(&parts->recorded, cpu))
			coverage->left_out_in_part = true;
	coverage->left_out_all = !parts->asked_recorded;
	if (!parts->all_recorded &&
	    cpu_filter_list(&parts->recorded, coverage->recorded, sizeof(coverage->recorded)) < 0)
		return -ENOMEM;
	return cpu_filter_list(left_out, coverage->left_out, sizeof(coverage->left_out));
}
