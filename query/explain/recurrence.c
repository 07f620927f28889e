// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/recurrence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/explain/chance.h"
#include "query/sums/spikes.h"

#define BUSY 95
#define MIN_NS NSEC_PER_SEC
/* A stretch of the recording is at least this long, because spikes consist of whole seconds. */
#define STRETCH_LEAST_NS (10 * NSEC_PER_SEC)
/* A spike recurs if another one has at least this part of its length. */
#define ALIKE 0.7
/* The kinds of work that are tried: the kernel's and programs'. */
#define TRIED 2
/* The least part of a spike's busy time that has no samples. */
#define HIDDEN 0.5

enum recurrence_work { RECURRENCE_KERNEL, RECURRENCE_USER, RECURRENCE_HIDDEN };

struct recurrence {
	const struct recurrence_options *options;
	struct spikes spikes;
	uint64_t stretch_ns;
};

/* Returns how long a CPU was saturated with one kind of work. */
static double recurrence_length(const struct spike *spike, enum recurrence_work work)
{
	double kernel = spike->length_ns * (spike->kernel + spike->irq);

	if (work == RECURRENCE_HIDDEN)
		return spike->unseen >= HIDDEN * spike->busy ? spike->length_ns : 0;
	if (work == RECURRENCE_USER)
		return spike->length_ns * (spike->busy - spike->kernel - spike->irq);
	return MAX(kernel, spike->stretch.length_ns * spike->stretch.kernel);
}

/* Returns the spike of a core in its stretch, or NULL. */
static const struct spike *recurrence_spike(const struct recurrence *recurrence,
					    const struct evidence_core *core)
{
	const struct spike *found = NULL;

	for (size_t i = 0; i < recurrence->spikes.list.count; i++) {
		const struct spike *spike = &recurrence->spikes.list.items[i];

		if (spike->cpu == core->cpu && spike->from_ns < core->to_ns &&
		    spike->to_ns > core->from_ns && (!found || spike->length_ns > found->length_ns))
			found = spike;
	}
	return found;
}

/* Returns the number of quiet stretches in the segments. */
static unsigned int recurrence_stretches(const struct recurrence *recurrence,
					 const struct store_segments *segments)
{
	uint64_t step_ns = recurrence->stretch_ns;
	unsigned int stretches = 0;

	for (size_t i = 0; i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];

		for (uint64_t at = segment->begin_ns; at + step_ns <= segment->end_ns;
		     at += step_ns)
			stretches +=
				!quiet_overlaps(recurrence->options->excluded, at, at + step_ns);
	}
	return stretches;
}

/* Returns the number of quiet stretches that spikes of at least this length touch. */
static unsigned int recurrence_touched(const struct recurrence *recurrence,
				       const struct spike *given, enum recurrence_work work)
{
	double least = recurrence_length(given, work) - NSEC_PER_SEC;
	uint64_t next_ns = 0;
	unsigned int touched = 0;

	for (size_t i = 0; i < recurrence->spikes.list.count; i++) {
		const struct spike *spike = &recurrence->spikes.list.items[i];
		uint64_t from_ns = MAX(spike->from_ns, next_ns);

		if (spike == given || recurrence_length(spike, work) < least ||
		    from_ns >= spike->to_ns ||
		    quiet_overlaps(recurrence->options->excluded, spike->from_ns, spike->to_ns))
			continue;
		/* a spike touches one stretch more than its length fills */
		next_ns = spike->to_ns + recurrence->stretch_ns;
		touched +=
			(next_ns - from_ns + recurrence->stretch_ns - 1) / recurrence->stretch_ns;
	}
	return touched;
}

/*
 * Counts the spikes of the core's busiest thread name at other times. The given spike may be longer
 * than the stall, and another thread may have most of it.
 */
static void recurrence_alike(const struct recurrence *recurrence, const struct spike *given,
			     const struct evidence *evidence, struct evidence_core *core)
{
	const struct spikes *spikes = &recurrence->spikes;
	const char *comm = core->thread_count ? evidence_name(evidence, core->threads[0].comm) : "";

	for (size_t i = 0; *comm && i < spikes->list.count; i++) {
		const struct spike *spike = &spikes->list.items[i];

		if (spike == given || !spike->thread ||
		    strcmp(strings_at(&spikes->names, spikes->threads.items[spike->thread].comm),
			   comm) != 0 ||
		    spike->length_ns < ALIKE * given->length_ns ||
		    quiet_overlaps(recurrence->options->excluded, spike->from_ns, spike->to_ns))
			continue;
		if (!core->recurs++)
			core->recurs_first_ns = spike->from_ns;
	}
}

static void recurrence_judge(const struct recurrence *recurrence, unsigned int stretches,
			     const struct evidence *evidence, struct evidence_core *core)
{
	const struct spike *spike = recurrence_spike(recurrence, core);
	enum recurrence_work work = core->kernel + core->irq + core->softirq >= core->user
					    ? RECURRENCE_KERNEL
					    : RECURRENCE_USER;
	struct evidence_chance chance = {
		.windows = stretches,
		.tried = TRIED,
	};

	if (!spike)
		return;
	chance.as_much = MIN(recurrence_touched(recurrence, spike, work), chance.windows);
	chance.p = MIN(TRIED * chance_of_rank(chance.windows, chance.as_much), 1.0);
	if (chance.windows)
		core->full_chance = chance;
	core->spike_from_ns = spike->from_ns;
	core->spike_to_ns = spike->to_ns;
	recurrence_alike(recurrence, spike, evidence, core);
}

/* Finds the longest spike of the stall that samples do not show. */
static void recurrence_hidden(const struct recurrence *recurrence, unsigned int stretches,
			      struct evidence *evidence)
{
	const struct spike *found = NULL;
	struct evidence_hidden *hidden = &evidence->hidden;

	for (size_t i = 0; i < recurrence->spikes.list.count; i++) {
		const struct spike *spike = &recurrence->spikes.list.items[i];

		if (recurrence_length(spike, RECURRENCE_HIDDEN) > 0 &&
		    spike->from_ns < evidence->stall_to_ns &&
		    spike->to_ns > evidence->stall_from_ns &&
		    (!found || spike->length_ns > found->length_ns))
			found = spike;
	}
	if (!found)
		return;
	*hidden = (struct evidence_hidden){
		true,	      found->cpu,    found->from_ns,
		found->to_ns, found->unseen, { .windows = stretches, .tried = TRIED },
	};
	hidden->chance.as_much =
		MIN(recurrence_touched(recurrence, found, RECURRENCE_HIDDEN), stretches);
	hidden->chance.p = MIN(TRIED * chance_of_rank(stretches, hidden->chance.as_much), 1.0);
}

static void recurrence_done(struct recurrence *recurrence)
{
	spikes_done(&recurrence->spikes);
}

int recurrence_find(struct store_reader *reader, const struct recurrence_options *options,
		    struct evidence *evidence, struct error *error)
{
	uint64_t stall_ns = evidence->stall_to_ns - evidence->stall_from_ns;
	_cleanup_(recurrence_done) struct recurrence recurrence = {
		.options = options,
		.stretch_ns = MAX(stall_ns, STRETCH_LEAST_NS),
	};
	struct spikes_options search = {
		.question = *options->question,
		.min_ns = MIN_NS,
		.busy = BUSY,
	};
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	unsigned int stretches;
	int r;

	search.question.window = (struct window){
		.from_ns =
			evidence->stall_from_ns - MIN(options->around_ns, evidence->stall_from_ns),
		.to_ns = evidence->stall_to_ns + options->around_ns,
	};
	r = store_reader_list(reader, search.question.window.from_ns, search.question.window.to_ns,
			      &segments, error);
	if (r < 0)
		return r;
	r = spikes_find(reader, &search, &recurrence.spikes, error);
	if (r < 0)
		return r;
	stretches = recurrence_stretches(&recurrence, &segments);
	evidence->quiet.searched_ns = stretches * recurrence.stretch_ns;
	evidence->quiet.stretch_ns = recurrence.stretch_ns;
	recurrence_hidden(&recurrence, stretches, evidence);
	for (size_t i = 0; i < evidence->core_count; i++)
		if (evidence->cores[i].full)
			recurrence_judge(&recurrence, stretches, evidence, &evidence->cores[i]);
	return 0;
}
