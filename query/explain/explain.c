// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/explain.h"

#include <errno.h>

#include "base/clock.h"
#include "query/explain/host-context.h"
#include "query/explain/quiet.h"
#include "query/explain/recurrence.h"
#include "query/explain/since.h"
#include "query/explain/stall-cores.h"
#include "query/explain/usual-rows.h"
#include "query/sums/spikes.h"

#define BUSY 95
#define MIN_NS (2 * NSEC_PER_SEC)
/*
 * Excludes at most this much time beside the stall in which a CPU was full, because a CPU may be
 * full for hours.
 */
#define NEAR_NS (60 * NSEC_PER_SEC)
/* The divisor of the time limit for quiet windows. */
#define SINCE_PART 3
/* The strips begin before the stall, so its surroundings do not count as quiet. */
#define APART_NS (5 * NSEC_PER_SEC)

void explain_done(struct explain *explain)
{
	evidence_done(&explain->evidence);
}

/* The time in which a CPU was full already, or still, is not quiet. */
static int explain_exclude_spikes(const struct evidence *evidence, struct quiet_spans *excluded)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < evidence->core_count; i++) {
		const struct evidence_core *core = &evidence->cores[i];
		struct quiet_span span = {
			MAX(core->spike_from_ns,
			    evidence->stall_from_ns - MIN(evidence->stall_from_ns, NEAR_NS)),
			MIN(core->spike_to_ns, evidence->stall_to_ns + NEAR_NS),
		};

		if (span.from_ns < span.to_ns)
			r = array_push(&excluded->list, span);
	}
	return r;
}

static int explain_compare(struct store_reader *reader, const struct explain_options *options,
			   struct quiet_spans *excluded, struct evidence *evidence,
			   struct error *error)
{
	const struct usual_options usual = {
		.question = &options->question,
		.around_ns = options->around_ns,
		.limit_ns = options->limit_ns,
		.threads = options->threads,
		.excluded = excluded,
	};
	const struct recurrence_options recurrence = {
		.question = &options->question,
		.around_ns = options->around_ns,
		.excluded = excluded,
	};
	const struct since_options since = {
		.question = &options->question,
		.around_ns = options->around_ns,
		.limit_ns = options->limit_ns / SINCE_PART,
		.threads = options->threads,
	};
	int r = recurrence_find(reader, &recurrence, evidence, error);

	if (r == 0)
		r = explain_exclude_spikes(evidence, excluded);
	if (r == 0)
		r = usual_rows_compare(reader, &usual, evidence, error);
	return r < 0 ? r : since_find(reader, &since, evidence, error);
}

static struct quiet_span explain_stall_span(const struct evidence *evidence)
{
	return (struct quiet_span){ evidence->stall_from_ns -
					    MIN(evidence->stall_from_ns, APART_NS),
				    evidence->stall_to_ns + APART_NS };
}

int explain_run(struct store_reader *reader, const struct explain_options *options,
		struct explain *explain, struct error *error)
{
	struct evidence *evidence = &explain->evidence;
	struct quiet_span around = {
		evidence->stall_from_ns - MIN(options->around_ns, evidence->stall_from_ns),
		evidence->stall_to_ns + options->around_ns,
	};
	struct quiet_spans excluded = { 0 };
	int r;

	r = stall_cores_read(reader, &options->question, evidence, error);
	if (r == 0)
		r = quiet_exclude(reader, explain_stall_span(evidence), around, &excluded, error);
	if (r == 0 && evidence->samples)
		r = explain_compare(reader, options, &excluded, evidence, error);
	if (r == 0)
		r = host_context_read(reader, &options->question, evidence, error);
	if (r == 0)
		verdicts_judge(evidence, &explain->verdicts);
	array_done(&excluded.list);
	return r;
}

/* Returns the end of the last sound segment that the search saw; UINT64_MAX if it saw none. */
static uint64_t explain_recorded_end(const struct spikes *spikes)
{
	uint64_t end_ns = 0;

	for (size_t i = 0; i < spikes->found.list.count; i++)
		if (!*spikes->found.list.items[i].damage)
			end_ns = MAX(end_ns, spikes->found.list.items[i].end_ns);
	return end_ns ? end_ns : UINT64_MAX;
}

int explain_narrow(struct store_reader *reader, const struct question *question, uint64_t *from_ns,
		   uint64_t *to_ns, struct error *error)
{
	struct spikes_options search = {
		.question = *question, .min_ns = MIN_NS, .busy = BUSY, .clip = true
	};
	struct spikes spikes = { 0 };
	int r;

	if (*to_ns - *from_ns <= EXPLAIN_STALL_MAX_NS)
		return 0;
	search.question.window = (struct window){ .from_ns = *from_ns, .to_ns = *to_ns };
	r = spikes_find(reader, &search, &spikes, error);
	if (r == 0 && spikes.list.count) {
		spikes_sort_by_weight(&spikes);
		*from_ns = MAX(*from_ns, spikes.list.items[0].from_ns);
		*to_ns = MIN(*to_ns, spikes.list.items[0].to_ns);
	} else if (r == 0) {
		*to_ns = MIN(*to_ns, explain_recorded_end(&spikes));
	}
	*from_ns = MAX(*from_ns, *to_ns - MIN(*to_ns, EXPLAIN_STALL_MAX_NS));
	spikes_done(&spikes);
	return r;
}
