// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/spike-leaders.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/read/window-filter.h"
#include "query/sums/ranking.h"
#include "query/sums/tally-tape.h"

#define PART_NS (60 * NSEC_PER_SEC)

/*
 * Returns whether the thread must have spent most of its time in the function. Assumes the worst
 * case, in which all time of the other threads was also in the function.
 */
static bool leader_is_proven(const struct spike *spike)
{
	return spike->thread && spike->function &&
	       spike->function_share > spike->busy - spike->thread_share / 2;
}

static struct spike_leader leader_of_seconds(const struct spikes *spikes, const struct spike *spike)
{
	const struct spike_thread *thread = &spikes->threads.items[spike->thread];
	struct spike_leader leader = { 0 };

	if (!spike->thread)
		return leader;
	leader.comm = thread->comm;
	leader.pid = thread->pid;
	leader.tid = thread->tid;
	leader.threads = 1;
	leader.share = spike->thread_share;
	if (leader_is_proven(spike)) {
		leader.function = spike->function;
		leader.function_share = MIN(spike->function_share, leader.share);
	}
	return leader;
}

/*
 * Returns the part of the spike whose samples leader_add_segment() reads. It lies in the window and
 * lasts at most a minute.
 */
static struct window leader_part(const struct question *question, const struct spike *spike)
{
	const struct window *window = &question->window;
	uint64_t begin_ns = MAX(spike->from_ns, window->from_ns);
	uint64_t end_ns = window->to_ns ? MIN(spike->to_ns, window->to_ns) : spike->to_ns;
	uint64_t length_ns = end_ns - MIN(begin_ns, end_ns), part_ns = MIN(length_ns, PART_NS);
	uint64_t from_ns = begin_ns + (length_ns - part_ns) / 2;

	return (struct window){ .from_ns = from_ns, .to_ns = from_ns + part_ns };
}

static int leader_add_tape(const struct question *question, const struct window *part,
			   const struct filter *filter, const struct store_segment *segment,
			   struct tape *tape, struct tally *tally)
{
	uint64_t sample_ns = stack_class_sample_ns(tape, segment->samples), error_ns = 0;
	_cleanup_(window_filter_times_done) struct window_filter_times times = { 0 };
	int r = 0;

	if (tape->unsealed && question->name)
		r = question->name(question->context, tape);
	if (r < 0)
		return r;
	r = window_filter_samples(tape, part, filter, &error_ns, &times);
	if (r < 0)
		return r;
	return tally_add_samples(tally, tape, times.kinds, sample_ns,
				 TALLY_CPUS | TALLY_NAMES | TALLY_DETAILS);
}

/* Skips a segment that cannot be read, because the answer about the window reports it. */
static int leader_add_segment(struct store_reader *reader, const struct question *question,
			      const struct window *part, const struct filter *filter,
			      const struct store_segment *segment, struct tally *tally,
			      struct error *error)
{
	const struct segment_want want = { part->from_ns, part->to_ns, SEGMENT_SAMPLES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error own = { 0 };
	int r = *segment->damage ? -EBADMSG
				 : store_reader_load(reader, segment, &want, &tape, &own);

	if (error_is_exhaustion(r))
		return error_set(error, r, "%s", own.text);
	return r < 0 ? 0 : leader_add_tape(question, part, filter, segment, tape, tally);
}

static int leader_read(struct store_reader *reader, const struct question *question,
		       const struct spike *spike, struct tally *tally, struct error *error)
{
	const struct window part = leader_part(question, spike);
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	_cleanup_(filter_done) struct filter filter = { 0 };
	int r = cpu_filter_add(&filter.cpus, spike->cpu);

	if (r < 0)
		return r;
	r = store_reader_find(reader, part.from_ns, part.to_ns, &segments, error);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++)
		r = leader_add_segment(reader, question, &part, &filter, &segments.list.items[i],
				       tally, error);
	return r;
}

static int leader_name(struct spikes *spikes, const char *name, uint32_t *ret_name)
{
	return name ? strings_add(&spikes->names, name, strlen(name), ret_name) : 0;
}

static int leader_take(struct spikes *spikes, const struct ranking *ranking,
		       struct spike_leader *leader)
{
	const struct ranking_core *core = ranking->cores.items;

	if (!ranking->cores.count || !core->group)
		return 0;
	for (size_t i = 0; i < ranking->groups.count; i++) {
		const struct ranking_group *group = &ranking->groups.items[i];

		if (strcmp(group->name, core->group) != 0)
			continue;
		leader->pid = group->pid;
		leader->tid = group->tid;
		leader->threads = group->threads;
	}
	leader->share = core->group_share;
	leader->function_share = core->function_share;
	if (leader_name(spikes, core->group, &leader->comm) < 0 ||
	    leader_name(spikes, core->function, &leader->function) < 0)
		return -ENOMEM;
	return 0;
}

static int leader_find(struct store_reader *reader, const struct question *question,
		       struct spikes *spikes, struct spike *spike, struct error *error)
{
	static const struct baseline nothing;
	const struct window part = leader_part(question, spike);
	_cleanup_(cleanup_tally) struct tally *tally = NULL;
	_cleanup_(ranking_done) struct ranking ranking = { 0 };
	int r = tally_new(&tally);

	if (r < 0)
		return r;
	r = leader_read(reader, question, spike, tally, error);
	if (r < 0)
		return r;
	r = ranking_make(tally, part.to_ns - part.from_ns, &nothing, &ranking);
	if (r < 0)
		return r;
	r = leader_take(spikes, &ranking, &spike->leader);
	if (r < 0)
		return r;
	if (part.to_ns - part.from_ns + NSEC_PER_SEC < spike->counted_ns)
		spike->leader.part_ns = part.to_ns - part.from_ns;
	return 0;
}

int spikes_find_leaders(struct store_reader *reader, const struct question *question, size_t limit,
			struct spikes *spikes, struct error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < spikes->list.count; i++) {
		struct spike *spike = &spikes->list.items[i];

		spike->leader = leader_of_seconds(spikes, spike);
		if (spike->leader.function || !limit)
			continue;
		limit--;
		r = leader_find(reader, question, spikes, spike, error);
	}
	return r;
}
