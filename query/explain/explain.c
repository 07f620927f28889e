// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/explain.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/explain/host-context.h"
#include "query/explain/quiet.h"
#include "query/explain/recurrence.h"
#include "query/explain/since.h"
#include "query/explain/stall-cores.h"
#include "query/explain/usual-rows.h"
#include "query/sums/spikes.h"

/*
 * Excludes at most this much time beside the stall in which a CPU was full, because a CPU may be
 * full for hours.
 */
#define NEAR_NS (60 * NSEC_PER_SEC)
/* The divisor of the time limit for quiet windows. */
#define SINCE_PART 3
/* A full CPU in a long window. */
#define BUSY 95
#define MIN_NS (2 * NSEC_PER_SEC)
/* A hostile store may have any number of parts that cannot be read. */
#define TRIES 16
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

	if (r < 0)
		return r;
	r = explain_exclude_spikes(evidence, excluded);
	if (r < 0)
		return r;
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
	_cleanup_(quiet_spans_done) struct quiet_spans excluded = { 0 };
	int r;

	r = stall_cores_read(reader, &options->question, evidence, error);
	if (r < 0)
		return r;
	r = stall_cores_add_unread(evidence);
	if (r < 0)
		return r;
	r = quiet_exclude(reader, explain_stall_span(evidence), around, &excluded, error);
	if (r < 0)
		return r;
	if (evidence->samples)
		r = explain_compare(reader, options, &excluded, evidence, error);
	if (r < 0)
		return r;
	r = host_context_read(reader, &options->question, evidence, error);
	if (r < 0)
		return r;
	verdicts_judge(evidence, &explain->verdicts);
	return 0;
}

/*
 * Chooses a part of a long window. The index describes segments by their first bytes and sums. Only
 * reading the samples shows whether they are sound, so a part is read before it is chosen.
 */
struct narrowing {
	struct store_reader *reader;
	struct evidence *evidence;
	struct spikes spikes;
	unsigned int tries;
	uint64_t from_ns, to_ns;
};

static void narrowing_done(struct narrowing *narrowing)
{
	spikes_done(&narrowing->spikes);
}

static bool narrowing_is_unread(const struct evidence *evidence,
				const struct store_segment *segment)
{
	for (size_t i = 0; i < evidence->unread.count; i++)
		if (evidence->unread.items[i].from_ns <= segment->begin_ns &&
		    evidence->unread.items[i].to_ns >= segment->end_ns)
			return true;
	return false;
}

static int narrowing_note_unread(struct evidence *evidence, const struct store_segment *segment,
				 const char *why)
{
	struct coverage_gap gap = { .from_ns = segment->begin_ns,
				    .to_ns = segment->end_ns,
				    .cause = COVERAGE_CAUSE_UNREADABLE,
				    .unread = true };

	snprintf(gap.why, sizeof(gap.why), "%.*s", (int)sizeof(gap.why) - 1, why);
	return array_push(&evidence->unread, gap);
}

/* Returns 1 if the samples of the segment can be read, 0 if not, or a negative errno. */
static int narrowing_read(struct narrowing *narrowing, const struct store_segment *segment,
			  uint64_t from_ns, uint64_t to_ns, struct error *error)
{
	const struct segment_want want = { from_ns, to_ns, SEGMENT_SAMPLES | SEGMENT_LOSSES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error own = { 0 };
	int r;

	if (narrowing_is_unread(narrowing->evidence, segment))
		return 0;
	r = store_reader_load(narrowing->reader, segment, &want, &tape, &own);
	if (error_is_exhaustion(r))
		return error_set(error, r, "%s", own.text);
	/* retention removed it meanwhile, or the coverage says that its file vanished */
	if (r == 0 || r == -ENOENT)
		return r == 0;
	return narrowing_note_unread(narrowing->evidence, segment, own.text);
}

/*
 * Takes the end of a part if some of it can be read. Returns 1, or 0 if none of it can, or a
 * negative errno.
 */
static int narrowing_try(struct narrowing *narrowing, uint64_t from_ns, uint64_t to_ns,
			 struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r, sound = 0;

	from_ns = MAX(from_ns, to_ns - MIN(to_ns, EXPLAIN_STALL_MAX_NS));
	r = store_reader_find(narrowing->reader, from_ns, to_ns, &segments, error);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		r = narrowing_read(narrowing, &segments.list.items[i], from_ns, to_ns, error);
		sound += r > 0;
		r = MIN(r, 0);
	}
	narrowing->tries++;
	/* without a sound part, the answer is about the first one, and says why it has no sample */
	if (r == 0 && (sound || narrowing->tries == 1)) {
		narrowing->from_ns = from_ns;
		narrowing->to_ns = to_ns;
	}
	return r < 0 ? r : sound > 0;
}

static int narrowing_try_spikes(struct narrowing *narrowing, const struct window *window,
				struct error *error)
{
	int r = 0;

	spikes_sort_by_weight(&narrowing->spikes);
	for (size_t i = 0; r == 0 && i < narrowing->spikes.list.count; i++) {
		const struct spike *spike = &narrowing->spikes.list.items[i];

		if (narrowing->tries < TRIES)
			r = narrowing_try(narrowing, MAX(window->from_ns, spike->from_ns),
					  MIN(window->to_ns, spike->to_ns), error);
	}
	return r;
}

/* Returns the end of the last segment that may be sound; UINT64_MAX if the search saw none. */
static uint64_t narrowing_recorded_end(const struct narrowing *narrowing)
{
	const struct store_segments *found = &narrowing->spikes.found;
	uint64_t end_ns = 0;

	for (size_t i = 0; i < found->list.count; i++) {
		const struct store_segment *segment = &found->list.items[i];

		if (!*segment->damage && !narrowing_is_unread(narrowing->evidence, segment))
			end_ns = MAX(end_ns, segment->end_ns);
	}
	return end_ns ? end_ns : UINT64_MAX;
}

static int narrowing_try_ends(struct narrowing *narrowing, const struct window *window,
			      struct error *error)
{
	int r = 0;

	while (r == 0 && narrowing->tries < TRIES) {
		uint64_t end_ns = narrowing_recorded_end(narrowing);
		size_t unread = narrowing->evidence->unread.count;

		r = narrowing_try(narrowing, window->from_ns, MIN(window->to_ns, end_ns), error);
		if (narrowing->evidence->unread.count == unread)
			break;
	}
	return r;
}

/* Notes the damage that the search found. */
static int narrowing_take_damage(struct narrowing *narrowing)
{
	const struct store_segments *found = &narrowing->spikes.found;
	const struct coverage *coverage = &narrowing->spikes.coverage;
	int r = 0;

	for (size_t i = 0; r == 0 && i < found->list.count; i++)
		if (*found->list.items[i].damage)
			r = narrowing_note_unread(narrowing->evidence, &found->list.items[i],
						  found->list.items[i].damage);
	/* a part of a segment that was damaged before it was sealed */
	for (size_t i = 0; r == 0 && i < coverage->gaps.count; i++)
		if (coverage->gaps.items[i].cause == COVERAGE_CAUSE_DAMAGED)
			r = array_push(&narrowing->evidence->unread, coverage->gaps.items[i]);
	return r;
}

int explain_narrow(struct store_reader *reader, const struct question *question,
		   struct evidence *evidence, struct error *error)
{
	const struct window window = { .from_ns = evidence->stall_from_ns,
				       .to_ns = evidence->stall_to_ns };
	struct spikes_options search = {
		.question = *question, .min_ns = MIN_NS, .busy = BUSY, .clip = true
	};
	_cleanup_(narrowing_done) struct narrowing narrowing = { .reader = reader,
								 .evidence = evidence };
	int r;

	if (window.to_ns - window.from_ns <= EXPLAIN_STALL_MAX_NS)
		return 0;
	search.question.window = window;
	r = spikes_find(reader, &search, &narrowing.spikes, error);
	if (r < 0)
		return r;
	r = narrowing_take_damage(&narrowing);
	if (r < 0)
		return r;
	r = narrowing_try_spikes(&narrowing, &window, error);
	if (r == 0)
		r = narrowing_try_ends(&narrowing, &window, error);
	if (r < 0)
		return r;
	evidence->stall_from_ns = narrowing.from_ns;
	evidence->stall_to_ns = narrowing.to_ns;
	return 0;
}
