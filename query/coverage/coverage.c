// SPDX-License-Identifier: GPL-2.0-only
#include "query/coverage/coverage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/coverage/offline-cpus.h"
#include "query/coverage/recorded-cpus.h"
#include "query/coverage/spans.h"
#include "tape/clocks.h"

static const char nothing_recorded[] = "nothing recorded";

void coverage_parts_done(struct coverage_parts *parts)
{
	array_done(&parts->covered);
	array_done(&parts->lost);
	array_done(&parts->lowered);
	array_done(&parts->reasons);
	array_done(&parts->spans);
	array_done(&parts->unsaved);
	array_done(&parts->lasting);
	cpu_filter_done(&parts->left_out);
	cpu_filter_done(&parts->recorded);
}

int coverage_add_recorded(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns >= to_ns)
		return 0;
	return array_push(&parts->covered, (struct coverage_interval){ from_ns, to_ns });
}

static int add_reason(struct coverage_parts *parts, struct coverage_gap gap, const char *why)
{
	snprintf(gap.why, sizeof(gap.why), "%s", why);
	return array_push(&parts->reasons, gap);
}

/*
 * Adds the stretch between two anchors. Converts the last nanosecond of the stretch instead of its
 * end. If the wall clock was set, the anchor at the end has a new offset.
 */
static int coverage_add_stretch(struct coverage_parts *parts, const struct tape *tape,
				uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns >= end_ns)
		return 0;
	return coverage_add_recorded(parts, tape_to_realtime(tape, begin_ns, NULL),
				     tape_to_realtime(tape, end_ns - 1, NULL) + 1);
}

/*
 * Handles an anchor at which the wall clock went ahead of the perf clock. If the machine slept, the
 * boot-time clock shows the sleep, and the time is a gap. If the clock was set, the skipped time
 * never existed and is not a gap.
 */
static int add_jump(struct coverage_parts *parts, const struct tape_anchor *at, uint64_t from_ns,
		    uint64_t to_ns)
{
	const struct tape_anchor *before = at - 1;
	struct coverage_gap gap = { .from_ns = from_ns,
				    .to_ns = to_ns,
				    .cause = COVERAGE_CAUSE_SUSPENDED };
	int64_t slept_ns =
		(at->boottime_ns - before->boottime_ns) - (at->monotonic_ns - before->monotonic_ns);

	if (from_ns + COVERAGE_GAP_MIN_NS > to_ns)
		return 0;
	/* imports know only the wall clock */
	return before->monotonic_ns && before->boottime_ns && slept_ns > CLOCKS_STEP_NS
		       ? add_reason(parts, gap, "the machine was suspended")
		       : coverage_add_recorded(parts, from_ns, to_ns);
}

/* Adds [begin, end) of the perf clock, split at each anchor. */
static int add_run(struct coverage_parts *parts, const struct tape *tape, uint64_t begin_ns,
		   uint64_t end_ns)
{
	for (size_t i = 0; i < tape->anchors.count; i++) {
		uint64_t perf_ns = tape->anchors.items[i].perf_ns;

		if (perf_ns <= begin_ns || perf_ns >= end_ns)
			continue;
		if (coverage_add_stretch(parts, tape, begin_ns, perf_ns) < 0)
			return -ENOMEM;
		if (i && add_jump(parts, &tape->anchors.items[i],
				  tape_to_realtime(tape, perf_ns - 1, NULL) + 1,
				  tape_to_realtime(tape, perf_ns, NULL)) < 0)
			return -ENOMEM;
		begin_ns = perf_ns;
	}
	return coverage_add_stretch(parts, tape, begin_ns, end_ns);
}

static int compare_intervals(const void *a, const void *b)
{
	const struct coverage_interval *left = a, *right = b;

	return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

/*
 * Returns why the time of a loss is not covered although a tape spans this time, or NULL if it is
 * covered. A stall of a single CPU is not a gap. A loss for a single unreadable record spans one
 * nanosecond. Only a tape that was truncated or damaged before sealing loses a stretch.
 */
static const char *coverage_uncovered_reason(const struct tape_loss *loss)
{
	if (loss->cpu != TAPE_ALL_CPUS)
		return NULL;
	switch (loss->kind) {
	case TAPE_LOSS_GAP:
		return "the recorder stalled, or the machine was suspended";
	case TAPE_LOSS_DAMAGED:
		return "damaged or truncated before it was sealed";
	default:
		return NULL;
	}
}

/* Lists the intervals of the perf clock that the tape itself reports as not covered. */
static int list_stops(const struct tape *tape, struct coverage_interval **ret, size_t *ret_count)
{
	size_t count = 0;

	*ret = malloc(MAX(tape->losses.count, (size_t)1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];

		if (coverage_uncovered_reason(loss))
			(*ret)[count++] = (struct coverage_interval){ loss->from_ns, loss->to_ns };
	}
	qsort(*ret, count, sizeof(**ret), compare_intervals);
	*ret_count = count;
	return 0;
}

static int add_tape_time(struct coverage_parts *parts, const struct tape *tape)
{
	_cleanup_free_ struct coverage_interval *stops = NULL;
	uint64_t begin_ns = tape->begin_ns;
	size_t count;

	if (list_stops(tape, &stops, &count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count && begin_ns < tape->end_ns; i++) {
		if (add_run(parts, tape, begin_ns, MIN(stops[i].from_ns, tape->end_ns)) < 0)
			return -ENOMEM;
		begin_ns = MAX(begin_ns, stops[i].to_ns);
	}
	return add_run(parts, tape, begin_ns, tape->end_ns);
}

static void count_loss(struct coverage *coverage, const struct tape_loss *loss)
{
	switch (loss->kind) {
	case TAPE_LOSS_SIDEBAND:
		coverage->lost_sideband += loss->count;
		break;
	case TAPE_LOSS_REFUSED:
		coverage->refused += loss->count;
		break;
	case TAPE_LOSS_DAMAGED:
		coverage->damaged += loss->count;
		break;
	case TAPE_LOSS_UNSAVED:
		coverage->unsaved += loss->count;
		break;
	case TAPE_LOSS_GAP:
		coverage->stalled += loss->count;
		break;
	case TAPE_LOSS_SKIPPED:
		coverage->skipped += loss->count;
		break;
	case TAPE_LOSS_TRUNCATED:
		coverage->truncated += loss->count;
		break;
	case TAPE_LOSS_EVENTS:
		coverage->lost_events += loss->count;
		break;
	case TAPE_LOSS_LOWERED:
		coverage->limit = coverage->limit ? MIN(coverage->limit, loss->count) : loss->count;
		break;
	default:
		coverage->lost_samples += loss->count;
		break;
	}
}

static double share_within(struct coverage_interval at, const struct window *window)
{
	uint64_t within_ns = MIN(at.to_ns, window->to_ns) - MAX(at.from_ns, window->from_ns);

	return (double)within_ns / (double)(at.to_ns - at.from_ns);
}

/*
 * Returns true for losses of samples that were taken and then lost, and for losses of unknown
 * kinds.
 */
static bool coverage_takes_samples(const struct tape_loss *loss)
{
	return loss->kind == TAPE_LOSS_SAMPLES || loss->kind == TAPE_LOSS_UNSAVED ||
	       loss->kind > TAPE_LOSS_REFUSED || !loss->kind;
}

/*
 * Counts the part of a loss that lies within the window. A loss may last longer than a short
 * window.
 */
static void count_share(struct coverage_shares *shares, const struct tape_loss *loss, double within)
{
	double count = (double)loss->count * within;

	if (loss->kind == TAPE_LOSS_SKIPPED)
		shares->skipped += count;
	else if (loss->kind == TAPE_LOSS_UNSAVED)
		shares->unsaved += count;
	else
		shares->lost += count;
}

/* Returns the time of a loss on the wall clock. A loss without a length lasts one nanosecond. */
static struct coverage_interval loss_interval(const struct tape *tape, const struct tape_loss *loss)
{
	uint64_t from_ns = tape_to_realtime(tape, loss->from_ns, NULL);
	uint64_t to_ns = tape_to_realtime(tape, loss->to_ns, NULL);
	struct coverage_interval at = { MIN(from_ns, to_ns), MAX(from_ns, to_ns) };

	at.to_ns = MAX(at.to_ns, at.from_ns + 1);
	return at;
}

static int coverage_add_unsaved_part(struct coverage_parts *parts, const struct tape *tape,
				     const struct tape_loss *loss,
				     const struct coverage_interval *at)
{
	struct coverage_span span = {
		.perf_begin_ns = loss->from_ns,
		.perf_end_ns = loss->to_ns,
		.begin_ns = at->from_ns,
		.end_ns = at->to_ns,
	};

	snprintf(span.boot_id, sizeof(span.boot_id), "%s", tape_fact(tape, "boot_id"));
	return array_push(&parts->unsaved, span);
}

static int add_loss(struct coverage *coverage, struct coverage_parts *parts,
		    const struct window *window, const struct tape *tape,
		    const struct tape_loss *loss)
{
	struct coverage_interval at = loss_interval(tape, loss);
	const char *why = coverage_uncovered_reason(loss);
	double within;

	if (at.from_ns >= window->to_ns || at.to_ns <= window->from_ns)
		return 0;
	if (loss->kind == TAPE_LOSS_STALLED_SIGNAL || loss->kind == TAPE_LOSS_STALLED_CPU) {
		*(loss->kind == TAPE_LOSS_STALLED_SIGNAL ? &coverage->stalled_signal_ns
							 : &coverage->stalled_cpu_ns) +=
			MIN(at.to_ns, window->to_ns) - MAX(at.from_ns, window->from_ns);
		return 0;
	}
	within = share_within(at, window);
	if (loss->kind == TAPE_LOSS_THROTTLED || loss->kind == TAPE_LOSS_OFFLINE) {
		uint64_t times = (uint64_t)ceil((double)loss->count * within);
		struct coverage_lasting piece = { loss->kind, loss->cpu, at.from_ns, at.to_ns,
						  MIN(times, loss->count) };

		return array_push(&parts->lasting, piece);
	}
	if (within < 1 && (coverage_takes_samples(loss) || loss->kind == TAPE_LOSS_SKIPPED))
		count_share(&parts->shares, loss, within);
	else
		count_loss(coverage, loss);
	if (why)
		return add_reason(
			parts,
			(struct coverage_gap){ .from_ns = at.from_ns,
					       .to_ns = at.to_ns,
					       .cause = loss->kind == TAPE_LOSS_GAP
								? COVERAGE_CAUSE_STALLED
								: COVERAGE_CAUSE_DAMAGED,
					       .unread = loss->kind == TAPE_LOSS_DAMAGED },
			why);
	if (loss->kind == TAPE_LOSS_LOWERED)
		return array_push(&parts->lowered, at);
	if (loss->kind == TAPE_LOSS_UNSAVED && loss->cpu == TAPE_ALL_CPUS &&
	    coverage_add_unsaved_part(parts, tape, loss, &at) < 0)
		return -ENOMEM;
	return coverage_takes_samples(loss) && loss->count ? array_push(&parts->lost, at) : 0;
}

int coverage_add_losses(struct coverage *coverage, struct coverage_parts *parts,
			const struct window *window, const struct cpu_set_filter *cpus,
			const struct tape *tape)
{
	int r = 0;

	parts->asked = 0;
	for (size_t i = 0; i < cpus->wanted.count; i++)
		parts->asked += cpus->wanted.items[i];
	for (size_t i = 0; r == 0 && i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];

		if (loss->cpu == TAPE_ALL_CPUS || cpu_filter_passes(cpus, loss->cpu))
			r = add_loss(coverage, parts, window, tape, loss);
	}
	return r;
}

int coverage_add_tape(struct coverage *coverage, struct coverage_parts *parts,
		      const struct window *window, const struct cpu_set_filter *cpus,
		      const struct tape *tape)
{
	struct coverage_span span = {
		.perf_begin_ns = tape->begin_ns,
		.perf_end_ns = tape->end_ns,
		.begin_ns = tape_to_realtime(tape, tape->begin_ns, NULL),
		.end_ns = tape_to_realtime(tape, tape->end_ns, NULL),
	};

	snprintf(span.boot_id, sizeof(span.boot_id), "%s", tape_fact(tape, "boot_id"));
	recorded_facts_add(&coverage->facts, tape);
	if (array_push(&parts->spans, span) < 0 ||
	    coverage_add_losses(coverage, parts, window, cpus, tape) < 0 ||
	    recorded_cpus_add(parts, cpus, tape) < 0)
		return -ENOMEM;
	return add_tape_time(parts, tape);
}

int coverage_add_unread(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns,
			const char *why)
{
	struct coverage_gap gap = { .from_ns = from_ns,
				    .to_ns = to_ns,
				    .cause = COVERAGE_CAUSE_UNREADABLE,
				    .unread = true };

	return add_reason(parts, gap, why);
}

int coverage_add_vanished(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns)
{
	struct coverage_gap gap = {
		.from_ns = from_ns,
		.to_ns = to_ns,
		.cause = COVERAGE_CAUSE_VANISHED,
		.unread = true,
		.counts = true,
	};

	return add_reason(parts, gap, "the files of its segments vanished");
}

int coverage_add_removed(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns)
{
	struct coverage_gap gap = {
		.from_ns = from_ns,
		.to_ns = to_ns,
		.cause = COVERAGE_CAUSE_REMOVED,
		.since_ns = from_ns,
		.until_ns = to_ns,
	};

	return add_reason(parts, gap, "removed by retention");
}

int coverage_add_unsaved(struct coverage *coverage, struct coverage_parts *parts,
			 const struct window *window, const struct coverage_span *span,
			 uint64_t samples)
{
	struct coverage_interval at = { span->begin_ns, span->end_ns };
	double within = share_within(at, window);

	if (within < 1)
		parts->shares.unsaved += (double)samples * within;
	else
		coverage->unsaved += samples;
	return array_push(&parts->unsaved, *span);
}

int coverage_add_unwritten(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns)
{
	struct coverage_gap gap = { .from_ns = from_ns,
				    .to_ns = to_ns,
				    .cause = COVERAGE_CAUSE_UNWRITTEN };

	return from_ns < to_ns ? add_reason(parts, gap, "not written yet") : 0;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct coverage_lasting *left = a, *right = b;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	if (left->cpu != right->cpu)
		return left->cpu < right->cpu ? -1 : 1;
	return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

static void count_lasting(struct coverage *coverage, struct coverage_parts *parts)
{
	struct coverage_lasting *pieces = parts->lasting.items;

	if (parts->lasting.count)
		qsort(pieces, parts->lasting.count, sizeof(*pieces), compare_pieces);
	for (size_t i = 0; i < parts->lasting.count; i++) {
		const struct coverage_lasting *piece = &pieces[i];
		bool again = i && coverage_continues(&pieces[i - 1], piece);
		uint64_t count = piece->count - (again && piece->count);

		*(piece->kind == TAPE_LOSS_OFFLINE ? &coverage->offline : &coverage->throttled) +=
			count;
	}
}

static int compare_gaps(const void *a, const void *b)
{
	const struct coverage_gap *left = a, *right = b;

	return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

/* Adds a gap. `reason` says why nothing covers the gap; NULL if the reason is unknown. */
static int push_gap(struct coverage *coverage, uint64_t from_ns, uint64_t to_ns,
		    const struct coverage_gap *reason)
{
	struct coverage_gap gap = { 0 };

	snprintf(gap.why, sizeof(gap.why), "%s", nothing_recorded);
	/* a window shorter than the tolerance can be uncovered as a whole */
	if (from_ns >= to_ns || to_ns - from_ns < MIN(COVERAGE_GAP_MIN_NS, coverage->window_ns))
		return 0;
	if (reason)
		gap = *reason;
	gap.from_ns = from_ns;
	gap.to_ns = to_ns;
	coverage->damaged += gap.counts;
	return array_push(&coverage->gaps, gap);
}

/* Adds the gaps of an uncovered stretch. Parts of the stretch may have a known reason. */
static int add_uncovered(struct coverage *coverage, const struct coverage_parts *parts,
			 uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < parts->reasons.count && from_ns < to_ns; i++) {
		const struct coverage_gap *reason = &parts->reasons.items[i];
		uint64_t begin_ns = MAX(reason->from_ns, from_ns);
		uint64_t end_ns = MIN(reason->to_ns, to_ns);

		if (begin_ns >= end_ns)
			continue;
		if (push_gap(coverage, from_ns, begin_ns, NULL) < 0 ||
		    push_gap(coverage, begin_ns, end_ns, reason) < 0)
			return -ENOMEM;
		from_ns = end_ns;
	}
	return push_gap(coverage, from_ns, to_ns, NULL);
}

static void sort_parts(struct coverage_parts *parts)
{
	if (parts->covered.count)
		qsort(parts->covered.items, parts->covered.count, sizeof(*parts->covered.items),
		      compare_intervals);
	if (parts->lost.count)
		qsort(parts->lost.items, parts->lost.count, sizeof(*parts->lost.items),
		      compare_intervals);
	if (parts->lowered.count)
		qsort(parts->lowered.items, parts->lowered.count, sizeof(*parts->lowered.items),
		      compare_intervals);
	if (parts->reasons.count)
		qsort(parts->reasons.items, parts->reasons.count, sizeof(*parts->reasons.items),
		      compare_gaps);
}

/*
 * Returns true if the sorted intervals leave time of the window uncovered. Tolerates small gaps,
 * because the clocks of two segments differ slightly.
 */
static bool leaves_time(const struct coverage_interval *intervals, size_t count,
			const struct window *window)
{
	uint64_t reached_ns = window->from_ns;

	for (size_t i = 0; i < count; i++) {
		if (intervals[i].from_ns > reached_ns + COVERAGE_PIECES_MAX_GAP_NS)
			break;
		reached_ns = MAX(reached_ns, intervals[i].to_ns);
	}
	return reached_ns < window->to_ns;
}

static bool add_share(uint64_t *count, double share)
{
	uint64_t whole = (uint64_t)llround(share);

	*count += whole;
	return whole;
}

static void finish_losses(struct coverage *coverage, const struct coverage_parts *parts,
			  const struct window *window)
{
	bool lost = add_share(&coverage->lost_samples, parts->shares.lost);
	bool unsaved = add_share(&coverage->unsaved, parts->shares.unsaved);

	coverage->lost_over_edge = lost || unsaved;
	coverage->skipped_over_edge = add_share(&coverage->skipped, parts->shares.skipped);
	coverage->lost_in_part = parts->lost.count &&
				 (coverage->lost_samples || coverage->unsaved) &&
				 leaves_time(parts->lost.items, parts->lost.count, window);
}

int coverage_finish(struct coverage *coverage, struct coverage_parts *parts,
		    const struct window *window)
{
	uint64_t reached_ns = window->from_ns, gap_ns = 0;

	if (spans_join(parts) < 0 || spans_explain_unsaved(parts) < 0 ||
	    recorded_cpus_finish(coverage, parts) < 0)
		return -ENOMEM;
	sort_parts(parts);
	count_lasting(coverage, parts);
	coverage->window_ns = window->to_ns - window->from_ns;
	for (size_t i = 0; i <= parts->covered.count && reached_ns < window->to_ns; i++) {
		struct coverage_interval next = { window->to_ns, window->to_ns };

		if (i < parts->covered.count)
			next = parts->covered.items[i];
		if (add_uncovered(coverage, parts, reached_ns, MIN(next.from_ns, window->to_ns)) <
		    0)
			return -ENOMEM;
		reached_ns = MAX(reached_ns, next.to_ns);
	}
	for (size_t i = 0; i < coverage->gaps.count; i++)
		gap_ns += coverage->gaps.items[i].to_ns - coverage->gaps.items[i].from_ns;
	coverage->covered_ns = coverage->window_ns - gap_ns;
	finish_losses(coverage, parts, window);
	coverage->limit_in_part = parts->lowered.count &&
				  leaves_time(parts->lowered.items, parts->lowered.count, window);
	if (offline_cpus_add_gaps(coverage, parts, window) < 0)
		return -ENOMEM;
	if (coverage->gaps.count)
		qsort(coverage->gaps.items, coverage->gaps.count, sizeof(*coverage->gaps.items),
		      compare_gaps);
	return 0;
}

bool coverage_is_whole(const struct coverage *coverage)
{
	return coverage->covered_ns == coverage->window_ns && !coverage->lost_samples &&
	       !coverage->unsaved && !coverage->skipped && !coverage->lost_sideband &&
	       !coverage->throttled && !coverage->damaged && !*coverage->left_out &&
	       !coverage->asked_offline;
}
