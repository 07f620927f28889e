// SPDX-License-Identifier: GPL-2.0-only
#include "query/coverage/offline-cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutation.h"

struct offline_cpus {
	array_of(struct coverage_lasting) list;
};

bool coverage_continues(const struct coverage_lasting *before, const struct coverage_lasting *piece)
{
	return before->kind == piece->kind && before->cpu == piece->cpu &&
	       piece->from_ns <= before->to_ns + COVERAGE_PIECES_MAX_GAP_NS;
}

/* Joins the pieces of the next stretch in the sorted list. Returns false at the end of the list. */
static bool next_lasting(const struct coverage_parts *parts, size_t *at,
			 struct coverage_lasting *ret_lasting)
{
	struct coverage_lasting *piece = &parts->lasting.items[*at];

	if (*at >= parts->lasting.count)
		return false;
	*ret_lasting = *piece;
	for (++*at, piece++; *at < parts->lasting.count && coverage_continues(ret_lasting, piece);
	     ++*at, piece++)
		ret_lasting->to_ns = MAX(ret_lasting->to_ns, piece->to_ns);
	return true;
}

static int compare_stretches(const void *a, const void *b)
{
	const struct coverage_lasting *left = a, *right = b;

	if (left->from_ns != right->from_ns)
		return left->from_ns < right->from_ns ? -1 : 1;
	if (left->to_ns != right->to_ns)
		return left->to_ns < right->to_ns ? -1 : 1;
	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

/* Lists the offline stretches of the window in time order. */
static int find_stretches(const struct coverage_parts *parts, const struct window *window,
			  struct offline_cpus *stretches)
{
	struct coverage_lasting one;

	if (mutated("forget-offline"))
		return 0;
	for (size_t at = 0; next_lasting(parts, &at, &one);) {
		one.from_ns = MAX(one.from_ns, window->from_ns);
		one.to_ns = MIN(one.to_ns, window->to_ns);
		if (one.kind == TAPE_LOSS_OFFLINE && one.cpu < TAPE_CPUS_MAX &&
		    array_push(&stretches->list, one) < 0)
			return -ENOMEM;
	}
	if (stretches->list.count)
		qsort(stretches->list.items, stretches->list.count, sizeof(*stretches->list.items),
		      compare_stretches);
	return 0;
}

/*
 * Returns the length of the recorded time of the window in which all selected CPUs were offline.
 * The stretches are sorted by their begin.
 */
static uint64_t count_uncovered_ns(const struct coverage *coverage,
				   const struct offline_cpus *stretches, size_t asked,
				   const struct window *window)
{
	uint64_t all_ns = 0, reached_ns = window->from_ns;

	for (size_t i = 0; asked && i < stretches->list.count; i++) {
		uint64_t from_ns = MAX(stretches->list.items[i].from_ns, reached_ns), to_ns = 0;
		size_t there = 0;

		for (size_t j = 0; j < stretches->list.count; j++) {
			const struct coverage_lasting *one = &stretches->list.items[j];

			if (one->from_ns > from_ns || one->to_ns <= from_ns)
				continue;
			to_ns = there++ ? MIN(to_ns, one->to_ns) : one->to_ns;
		}
		if (there < asked)
			continue;
		reached_ns = to_ns;
		all_ns += to_ns - from_ns;
		for (size_t j = 0; j < coverage->gaps.count; j++) {
			const struct coverage_gap *gap = &coverage->gaps.items[j];
			uint64_t begin_ns = MAX(gap->from_ns, from_ns);
			uint64_t end_ns = MIN(gap->to_ns, to_ns);

			all_ns -= begin_ns < end_ns ? end_ns - begin_ns : 0;
		}
	}
	return all_ns;
}

static size_t count_together(const struct coverage_lasting *first, size_t count)
{
	size_t end = 1;

	while (end < count && first[end].from_ns == first->from_ns &&
	       first[end].to_ns == first->to_ns)
		end++;
	return end;
}

/*
 * Writes a list such as "1,8-15", with as many CPUs as fit. Returns how many CPUs the list
 * contains.
 */
static size_t list_cpus(const struct coverage_lasting *offline, size_t count, char *text,
			size_t size)
{
	size_t used = 0, done = 0, end;

	for (; done < count; done = end) {
		char range[32];
		size_t length;

		for (end = done + 1; end < count && offline[end].cpu <= offline[end - 1].cpu + 1;)
			end++;
		length = snprintf(range, sizeof(range),
				  offline[done].cpu < offline[end - 1].cpu ? "%s%u-%u" : "%s%u",
				  used ? "," : "", offline[done].cpu, offline[end - 1].cpu);
		if (used + length >= size)
			break;
		memcpy(text + used, range, length + 1);
		used += length;
	}
	return done;
}

/*
 * Adds one gap for all CPUs with the same offline time. If the list of these CPUs does not fit into
 * a gap, adds several gaps.
 */
static int add_gaps(struct coverage *coverage, const struct offline_cpus *stretches)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < stretches->list.count;) {
		const struct coverage_lasting *first = &stretches->list.items[i];
		struct coverage_gap gap = { .from_ns = first->from_ns,
					    .to_ns = first->to_ns,
					    .cause = COVERAGE_CAUSE_OFFLINE };

		i += list_cpus(first, count_together(first, stretches->list.count - i), gap.cpus,
			       sizeof(gap.cpus));
		snprintf(gap.why, sizeof(gap.why),
			 strpbrk(gap.cpus, ",-") ? "CPUs %s were offline" : "CPU %s was offline",
			 gap.cpus);
		r = array_push(&coverage->gaps, gap);
	}
	return r;
}

static void offline_cpus_done(struct offline_cpus *stretches)
{
	array_done(&stretches->list);
}

int offline_cpus_add_gaps(struct coverage *coverage, const struct coverage_parts *parts,
			  const struct window *window)
{
	_cleanup_(offline_cpus_done) struct offline_cpus stretches = { 0 };
	int r = find_stretches(parts, window, &stretches);

	if (r < 0 || !stretches.list.count)
		return r;
	coverage->asked_offline = parts->asked != 0;
	coverage->covered_ns -= count_uncovered_ns(coverage, &stretches, parts->asked, window);
	return add_gaps(coverage, &stretches);
}
