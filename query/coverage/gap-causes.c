// SPDX-License-Identifier: GPL-2.0-only
#include "query/coverage/gap-causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mutation.h"
#include "base/sort.h"

/* A segment's end in the index and its end by its anchors may differ by microseconds. */
#define BESIDE_NS NSEC_PER_MSEC

/* The facts of the segment before or after a gap. */
struct side {
	/* the segment exists and can be read */
	bool there;
	bool unsealed;
	/* the recording began with this segment */
	bool first;
	/* the segment was imported: its boot ID stands for the file that it came from */
	bool imported;
	char boot_id[40];
	char begun[24];
	char ended[32];
	uint64_t end_ns;
	/* time on the wall clock at which the machine started; 0: not known */
	uint64_t booted_ns;
	/* the time of the unsaved samples */
	uint64_t unsaved_from_ns, unsaved_to_ns;
};

struct explainer {
	struct store_reader *reader;
	const struct store_segments *segments;
	const struct window *window;
	/* the nearest segments outside of the window; 0: none */
	uint64_t before_ns, after_ns;
	/* the recorder's pid; 0: no recorder runs */
	int recorder;
	/* when this recorder started */
	uint64_t since_ns;
	uint64_t now_ns;
	bool is_file;
	/* the segment loaded last, which is often also a neighbour of the next gap; NULL: none */
	const struct store_segment *loaded;
	struct side side;
};

static bool gap_causes_is_near(uint64_t a_ns, uint64_t b_ns)
{
	return MAX(a_ns, b_ns) - MIN(a_ns, b_ns) < BESIDE_NS;
}

static void take_unsaved(struct side *side, const struct tape *tape)
{
	for (size_t i = 0; i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];

		if (loss->kind != TAPE_LOSS_UNSAVED)
			continue;
		side->unsaved_from_ns = tape_to_realtime(tape, loss->from_ns, NULL);
		side->unsaved_to_ns = tape_to_realtime(tape, loss->to_ns, NULL);
	}
}

static void gap_causes_take_facts(struct side *side, const struct tape *tape)
{
	const struct tape_anchor *first = tape->anchors.items;

	side->there = true;
	side->imported = *tape_fact(tape, "source") != 0;
	snprintf(side->boot_id, sizeof(side->boot_id), "%s", tape_fact(tape, "boot_id"));
	snprintf(side->begun, sizeof(side->begun), "%s", tape_fact(tape, TAPE_BEGUN));
	snprintf(side->ended, sizeof(side->ended), "%s", tape_fact(tape, TAPE_ENDED));
	side->first = *side->begun && strtoull(side->begun, NULL, 10) / TAPE_TIME_UNIT_NS ==
					      tape->begin_ns / TAPE_TIME_UNIT_NS;
	if (tape->anchors.count && first->boottime_ns)
		side->booted_ns = first->realtime_ns - MIN(first->boottime_ns, first->realtime_ns);
	take_unsaved(side, tape);
}

static int load_side(struct explainer *explainer, const struct store_segment *segment,
		     struct side *ret_side, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_LOSSES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r;

	if (*segment->damage)
		return 0;
	r = store_reader_load(explainer->reader, segment, &want, &tape, error);
	if (r < 0)
		return error_is_exhaustion(r) ? r : 0;
	ret_side->unsealed = segment->unsealed;
	ret_side->end_ns = segment->end_ns;
	gap_causes_take_facts(ret_side, tape);
	return 0;
}

/*
 * Returns the segment that ends (or begins, if `behind`) at this moment, or NULL. Uses bisection,
 * because a window with thousands of gaps calls this function for each gap.
 */
static const struct store_segment *find_segment(const struct store_segments *segments,
						uint64_t at_ns, bool behind)
{
	/* segments are sorted by their begin */
	size_t at = sort_array_count_below(&segments->list, begin_ns,
					   at_ns - MIN(at_ns, BESIDE_NS)),
	       end = segments->list.count;

	for (; behind && at < end && segments->list.items[at].begin_ns < at_ns + BESIDE_NS; at++)
		if (gap_causes_is_near(segments->list.items[at].begin_ns, at_ns))
			return &segments->list.items[at];
	if (!behind)
		for (at = sort_array_count_below(&segments->list, begin_ns, at_ns + BESIDE_NS);
		     at-- > 0;)
			if (gap_causes_is_near(segments->list.items[at].end_ns, at_ns))
				return &segments->list.items[at];
	return NULL;
}

static int find_side(struct explainer *explainer, uint64_t at_ns, bool behind,
		     struct side *ret_side, struct error *error)
{
	const struct store_segment *segment = find_segment(explainer->segments, at_ns, behind);
	struct side side = { 0 };
	int r;

	if (!segment)
		return 0;
	if (segment != explainer->loaded) {
		r = load_side(explainer, segment, &side, error);
		if (r < 0)
			return r;
		explainer->loaded = segment;
		explainer->side = side;
	}
	*ret_side = explainer->side;
	return 0;
}

/* Returns 1 if segments in this time were removed, 0 if not, or a negative errno. */
static int gap_causes_find_removed(struct explainer *explainer, uint64_t from_ns, uint64_t to_ns,
				   struct error *error)
{
	struct store_removed_ranges gone = { 0 };
	int r = store_reader_removed(explainer->reader, from_ns, to_ns, &gone, error);
	bool some = gone.list.count > 0;

	array_done(&gone.list);
	return r < 0 ? r : some;
}

/*
 * Finds the segment beside the window, unless a removed segment lies between the window and that
 * segment.
 */
static int find_outside(struct explainer *explainer, bool behind, struct side *ret_side,
			struct error *error)
{
	const struct window *window = explainer->window;
	uint64_t at_ns = behind ? explainer->after_ns : explainer->before_ns;
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	const struct store_segment *segment;
	int r;

	if (!at_ns)
		return 0;
	r = behind ? gap_causes_find_removed(explainer, window->to_ns, at_ns, error)
		   : gap_causes_find_removed(explainer, at_ns, window->from_ns, error);
	if (r != 0)
		return MIN(r, 0);
	r = store_reader_find(explainer->reader, at_ns - !behind, at_ns + behind, &segments, error);
	segment = r == 0 ? find_segment(&segments, at_ns, behind) : NULL;
	if (segment)
		r = load_side(explainer, segment, ret_side, error);
	return r;
}

static int find_sides(struct explainer *explainer, const struct coverage_gap *gap,
		      struct side *ret_before, struct side *ret_after, struct error *error)
{
	int r = find_side(explainer, gap->from_ns, false, ret_before, error);

	if (r < 0)
		return r;
	r = find_side(explainer, gap->to_ns, true, ret_after, error);
	if (r < 0)
		return r;
	if (!ret_before->there && gap->from_ns == explainer->window->from_ns)
		r = find_outside(explainer, false, ret_before, error);
	if (r < 0)
		return r;
	if (!ret_after->there && gap->to_ns == explainer->window->to_ns)
		r = find_outside(explainer, true, ret_after, error);
	return r;
}

/* Describes how the recording that contains the segment ended; "" if unknown. */
static void describe_end(const struct side *side, char *text, size_t size,
			 enum coverage_cause *ret_cause)
{
	*ret_cause = COVERAGE_CAUSE_UNKNOWN;
	text[0] = 0;
	if (!side->there || (!*side->begun && !*side->ended))
		return;
	if (!*side->ended || strcmp(side->ended, TAPE_ENDED_KILLED) == 0) {
		if (mutated("forget-killed"))
			return;
		snprintf(text, size, "the recorder was killed");
		*ret_cause = COVERAGE_CAUSE_KILLED;
	} else if (strcmp(side->ended, "duration") == 0) {
		snprintf(text, size, "the recorder had run for its --duration");
		*ret_cause = COVERAGE_CAUSE_DURATION;
	} else if (strncmp(side->ended, "SIG", 3) == 0) {
		snprintf(text, size, "the recorder was stopped (%s)", side->ended);
		*ret_cause = COVERAGE_CAUSE_STOPPED;
	} else {
		snprintf(text, size, "the recorder ended (%s)", side->ended);
		*ret_cause = COVERAGE_CAUSE_ENDED;
	}
}

static void gap_causes_set(struct coverage_gap *gap, enum coverage_cause cause, const char *why)
{
	snprintf(gap->why, sizeof(gap->why), "%s", why);
	gap->cause = cause;
}

/*
 * Explains a gap between two boots. A recorder that ended because the machine crashed looks the
 * same as one that was killed before a reboot.
 */
static void explain_reboot(struct coverage_gap *gap, const struct side *after, const char *end,
			   enum coverage_cause cause)
{
	char before[32], again[80] = "";

	if (after->booted_ns > gap->from_ns && after->booted_ns < gap->to_ns) {
		duration_format(gap->to_ns - after->booted_ns, before, sizeof(before));
		snprintf(again, sizeof(again), " %s before the end of this gap", before);
	}
	snprintf(gap->why, sizeof(gap->why), "%s; the machine rebooted%s",
		 !*end ? "nothing recorded"
		 : cause == COVERAGE_CAUSE_KILLED
			 ? "the machine went down, or the recorder was killed"
			 : end,
		 again);
	gap->cause = COVERAGE_CAUSE_REBOOTED;
}

static bool is_unsaved(const struct side *side, const struct coverage_gap *gap)
{
	return side->unsaved_from_ns < gap->to_ns && side->unsaved_to_ns > gap->from_ns;
}

/*
 * Returns true if a file ends before the gap, and the recording went on. A snapshot ends with its
 * window, so its last segment says nothing about the recorder.
 */
static bool is_behind_file(const struct explainer *explainer, const struct side *before,
			   const struct side *after)
{
	return explainer->is_file && before->there && !after->there && !*before->ended;
}

/*
 * Returns true if the running recorder may still write the time after a segment. It cannot write
 * time before its own start.
 */
static bool is_unwritten(const struct explainer *explainer, const struct side *before)
{
	if (*before->ended || !explainer->recorder)
		return false;
	return explainer->since_ns ? before->end_ns > explainer->since_ns : before->unsealed;
}

static void gap_causes_set_cause(const struct explainer *explainer, struct coverage_gap *gap,
				 const struct side *before, const struct side *after)
{
	char end[128];
	enum coverage_cause cause;

	describe_end(before, end, sizeof(end), &cause);
	if (gap->from_ns >= explainer->now_ns)
		gap_causes_set(gap, COVERAGE_CAUSE_FUTURE, "that time is in the future");
	else if ((is_unsaved(before, gap) || is_unsaved(after, gap)))
		gap_causes_set(gap, COVERAGE_CAUSE_UNSAVED,
			       "unsaved: the store could not be written");
	else if (before->imported || (after->imported && !*before->ended))
		return;
	else if (before->there && after->there && !after->imported &&
		 strcmp(before->boot_id, after->boot_id) != 0)
		explain_reboot(gap, after, end, cause);
	else if (before->there && after->there && strcmp(before->begun, after->begun) == 0)
		return; /* the same recording: nothing ended */
	else if (is_behind_file(explainer, before, after))
		gap_causes_set(gap, COVERAGE_CAUSE_NOT_IN_FILE, "not in this file");
	else if (before->there && !after->there && is_unwritten(explainer, before))
		gap_causes_set(gap, COVERAGE_CAUSE_UNWRITTEN, "not written yet");
	else if (cause)
		gap_causes_set(gap, cause, end);
}

/*
 * Explains a gap outside of all segments. Retention may have removed segments in the gap, unless
 * the segment after the gap begins a recording.
 */
static int explain_outside(struct explainer *explainer, struct coverage_gap *gap,
			   const struct side *after, struct error *error)
{
	bool first = gap->from_ns == explainer->window->from_ns && !explainer->before_ns;
	int r;

	for (size_t i = 0; first && i < explainer->segments->list.count; i++)
		first = explainer->segments->list.items[i].begin_ns + BESIDE_NS > gap->to_ns;
	if (explainer->is_file && (first || gap->to_ns == explainer->window->to_ns)) {
		gap_causes_set(gap, COVERAGE_CAUSE_NOT_IN_FILE, "not in this file");
		return 0;
	}
	if (!first || !after->first)
		return 0;
	r = gap_causes_find_removed(explainer, 0, gap->to_ns, error);
	if (r == 0)
		gap_causes_set(gap, COVERAGE_CAUSE_NOT_BEGUN, "before the first recording");
	return MIN(r, 0);
}

/*
 * Splits a gap at a moment, such as now, because the parts before and after this moment have
 * different causes.
 */
static int split_at(struct coverage *coverage, size_t number, uint64_t at_ns)
{
	struct coverage_gap later = coverage->gaps.items[number];
	struct coverage_gap *gap;

	if (later.from_ns >= at_ns || later.to_ns <= at_ns)
		return 0;
	later.from_ns = at_ns;
	if (array_push(&coverage->gaps, later) < 0)
		return -ENOMEM;
	gap = &coverage->gaps.items[number];
	memmove(gap + 2, gap + 1, (coverage->gaps.count - number - 2) * sizeof(*gap));
	gap[1] = later;
	gap->to_ns = at_ns;
	return 0;
}

/*
 * Returns when the unsaved samples in the gap end; 0 if the gap has none, or if they last until its
 * end.
 */
static uint64_t unsaved_until(const struct side *side, const struct coverage_gap *gap)
{
	return is_unsaved(side, gap) && !gap_causes_is_near(side->unsaved_to_ns, gap->to_ns)
		       ? side->unsaved_to_ns
		       : 0;
}

/*
 * Explains a gap. If the gap directly follows a gap with unsaved samples, the same segment precedes
 * both gaps, so the search treats them as one.
 */
static int explain_gap(struct explainer *explainer, struct coverage *coverage, size_t number,
		       struct error *error)
{
	struct coverage_gap *gap = &coverage->gaps.items[number], whole = *gap;
	const struct coverage_gap *previous = number ? gap - 1 : NULL;
	struct side before = { 0 }, after = { 0 };
	int r;

	if (previous && previous->cause == COVERAGE_CAUSE_UNSAVED &&
	    previous->to_ns == gap->from_ns)
		whole.from_ns = previous->from_ns;
	r = find_sides(explainer, &whole, &before, &after, error);
	if (r < 0)
		return r;
	r = split_at(coverage, number,
		     MAX(unsaved_until(&before, gap), unsaved_until(&after, gap)));
	if (r < 0)
		return r;
	gap = &coverage->gaps.items[number];
	gap_causes_set_cause(explainer, gap, &before, &after);
	return gap->cause ? 0 : explain_outside(explainer, gap, &after, error);
}

int gap_causes_explain(struct store_reader *reader, const struct store_segments *segments,
		       const struct window *window, struct coverage *coverage, struct error *error)
{
	struct explainer explainer = { .reader = reader, .segments = segments, .window = window };
	bool begun = false;
	int r = 0;

	if (mutated("forget-gap-cause"))
		return 0;
	for (size_t i = 0; r == 0 && i < coverage->gaps.count; i++) {
		if (coverage->gaps.items[i].cause)
			continue;
		if (!begun) {
			begun = true;
			explainer.now_ns = clock_ns(CLOCK_REALTIME);
			explainer.is_file = store_reader_is_file(reader);
			explainer.recorder = store_reader_recorder(reader, &explainer.since_ns);
			r = store_reader_near(reader, window->from_ns, window->to_ns,
					      &explainer.before_ns, &explainer.after_ns, error);
		}
		if (r < 0)
			return r;
		r = split_at(coverage, i, explainer.now_ns);
		if (r < 0)
			return r;
		r = explain_gap(&explainer, coverage, i, error);
	}
	return r;
}
