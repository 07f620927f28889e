// SPDX-License-Identifier: GPL-2.0-only
#include "query/coverage/gap-causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mutation.h"
#include "base/sort.h"

/* A segment's end in the list and by its anchors, which differ by microseconds. */
#define BESIDE_NS NSEC_PER_MSEC

/* What a segment beside a gap says. */
struct side {
	/* and can be read */
	bool there;
	bool unsealed;
	/* the recording began with it */
	bool first;
	/* what stands for its boot is the file that it came from */
	bool imported;
	char boot_id[40];
	char begun[24];
	char ended[32];
	uint64_t end_ns;
	/* of the wall clock: when the machine was started; 0: not known */
	uint64_t booted_ns;
	/* samples that were given up */
	uint64_t unsaved_from_ns, unsaved_to_ns;
};

struct telling {
	struct store_reader *reader;
	const struct store_segments *segments;
	const struct window *window;
	/* beside the window; 0: nothing is recorded there */
	uint64_t before_ns, after_ns;
	/* its pid; 0: none runs */
	int recorder;
	/* that it runs */
	uint64_t since_ns;
	uint64_t now_ns;
	bool is_file;
	/* what was loaded last: behind one gap it is often what is before the next; NULL: nothing
	 */
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

static int load_side(struct telling *telling, const struct store_segment *segment,
		     struct side *ret_side, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_LOSSES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r;

	if (*segment->damage)
		return 0;
	r = store_reader_load(telling->reader, segment, &want, &tape, error);
	if (r < 0)
		return error_is_exhaustion(r) ? r : 0;
	ret_side->unsealed = segment->unsealed;
	ret_side->end_ns = segment->end_ns;
	gap_causes_take_facts(ret_side, tape);
	return 0;
}

/* The segment that ends, or begins, at that moment; or NULL. Of thousands of gaps, each finds its
 * own at once. */
static const struct store_segment *find_segment(const struct store_segments *segments,
						uint64_t at_ns, bool behind)
{
	/* they are in the order of their begins */
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

static int find_side(struct telling *telling, uint64_t at_ns, bool behind, struct side *ret_side,
		     struct error *error)
{
	const struct store_segment *segment = find_segment(telling->segments, at_ns, behind);
	struct side side = { 0 };
	int r;

	if (!segment)
		return 0;
	if (segment != telling->loaded) {
		r = load_side(telling, segment, &side, error);
		if (r < 0)
			return r;
		telling->loaded = segment;
		telling->side = side;
	}
	*ret_side = telling->side;
	return 0;
}

/* Was there something between, that is gone? 1 or 0. */
static int gap_causes_is_gone(struct telling *telling, uint64_t from_ns, uint64_t to_ns,
			      struct error *error)
{
	struct store_gone_list gone = { 0 };
	int r = store_reader_gone(telling->reader, from_ns, to_ns, &gone, error);
	bool some = gone.list.count > 0;

	array_done(&gone.list);
	return r < 0 ? r : some;
}

/* The segment beside the window, if nothing lies between. */
static int find_outside(struct telling *telling, bool behind, struct side *ret_side,
			struct error *error)
{
	const struct window *window = telling->window;
	uint64_t at_ns = behind ? telling->after_ns : telling->before_ns;
	struct store_segments segments = { 0 };
	const struct store_segment *segment;
	int r;

	if (!at_ns)
		return 0;
	r = behind ? gap_causes_is_gone(telling, window->to_ns, at_ns, error)
		   : gap_causes_is_gone(telling, at_ns, window->from_ns, error);
	if (r != 0)
		return MIN(r, 0);
	r = store_reader_find(telling->reader, at_ns - !behind, at_ns + behind, &segments, error);
	segment = r == 0 ? find_segment(&segments, at_ns, behind) : NULL;
	if (segment)
		r = load_side(telling, segment, ret_side, error);
	array_done(&segments.list);
	return r;
}

static int find_sides(struct telling *telling, const struct coverage_gap *gap,
		      struct side *ret_before, struct side *ret_after, struct error *error)
{
	int r = find_side(telling, gap->from_ns, false, ret_before, error);

	if (r == 0)
		r = find_side(telling, gap->to_ns, true, ret_after, error);
	if (r == 0 && !ret_before->there && gap->from_ns == telling->window->from_ns)
		r = find_outside(telling, false, ret_before, error);
	if (r == 0 && !ret_after->there && gap->to_ns == telling->window->to_ns)
		r = find_outside(telling, true, ret_after, error);
	return r;
}

/* What became of the recording that a segment is the last one of; "" where nothing tells. */
static void describe_end(const struct side *side, char *text, size_t size, const char **ret_cause)
{
	*ret_cause = NULL;
	text[0] = 0;
	if (!side->there || (!*side->begun && !*side->ended))
		return;
	if (!*side->ended || strcmp(side->ended, TAPE_ENDED_KILLED) == 0) {
		if (mutated("forget-killed"))
			return;
		snprintf(text, size, "the recorder was killed");
		*ret_cause = "killed";
	} else if (strcmp(side->ended, "duration") == 0) {
		snprintf(text, size, "the recorder had run for its --duration");
		*ret_cause = "duration";
	} else if (strncmp(side->ended, "SIG", 3) == 0) {
		snprintf(text, size, "the recorder was stopped (%s)", side->ended);
		*ret_cause = "stopped";
	} else {
		snprintf(text, size, "the recorder ended (%s)", side->ended);
		*ret_cause = "ended";
	}
}

static void gap_causes_set(struct coverage_gap *gap, const char *cause, const char *why)
{
	snprintf(gap->why, sizeof(gap->why), "%s", why);
	gap->cause = cause;
}

/* Another boot follows. Who is killed by a crash and who is killed before cannot be told apart. */
static void tell_boot(struct coverage_gap *gap, const struct side *after, const char *end,
		      const char *cause)
{
	char before[32], again[80] = "";

	if (after->booted_ns > gap->from_ns && after->booted_ns < gap->to_ns) {
		duration_format(gap->to_ns - after->booted_ns, before, sizeof(before));
		snprintf(again, sizeof(again), " %s before the end of this", before);
	}
	snprintf(gap->why, sizeof(gap->why), "%s; the machine was started anew%s",
		 !*end ? "nothing recorded"
		 : strcmp(cause, "killed") == 0
			 ? "the machine went down, or the recorder was killed"
			 : end,
		 again);
	gap->cause = "rebooted";
}

static bool is_unsaved(const struct side *side, const struct coverage_gap *gap)
{
	return side->unsaved_from_ns < gap->to_ns && side->unsaved_to_ns > gap->from_ns;
}

/* Does the recorder that runs now still have what follows? What is of a time before it cannot be
 * its own. */
static bool is_unwritten(const struct telling *telling, const struct side *before)
{
	if (*before->ended || !telling->recorder)
		return false;
	return telling->since_ns ? before->end_ns > telling->since_ns : before->unsealed;
}

static void gap_causes_tell_here(const struct telling *telling, struct coverage_gap *gap,
				 const struct side *before, const struct side *after)
{
	char end[128];
	const char *cause;

	describe_end(before, end, sizeof(end), &cause);
	if (gap->from_ns >= telling->now_ns)
		gap_causes_set(gap, "future", "that time is still to come");
	else if ((is_unsaved(before, gap) || is_unsaved(after, gap)))
		gap_causes_set(gap, "unsaved", "unsaved: the store could not be written");
	else if (before->imported || (after->imported && !*before->ended))
		return;
	else if (before->there && after->there && !after->imported &&
		 strcmp(before->boot_id, after->boot_id) != 0)
		tell_boot(gap, after, end, cause);
	else if (before->there && after->there && strcmp(before->begun, after->begun) == 0)
		return; /* one recording: nothing of it ended */
	else if (before->there && !after->there && is_unwritten(telling, before))
		gap_causes_set(gap, "unwritten", "not written yet");
	else if (cause)
		gap_causes_set(gap, cause, end);
}

/* What lies outside of all that there is. Somebody may have removed what was before it, but not
 * where a recording begins. */
static int tell_outside(struct telling *telling, struct coverage_gap *gap, const struct side *after,
			struct error *error)
{
	bool first = gap->from_ns == telling->window->from_ns && !telling->before_ns;
	int r;

	for (size_t i = 0; first && i < telling->segments->list.count; i++)
		first = telling->segments->list.items[i].begin_ns + BESIDE_NS > gap->to_ns;
	if (telling->is_file && (first || gap->to_ns == telling->window->to_ns)) {
		gap_causes_set(gap, "not-in-file", "not in this file");
		return 0;
	}
	if (!first || !after->first)
		return 0;
	r = gap_causes_is_gone(telling, 0, gap->to_ns, error);
	if (r == 0)
		gap_causes_set(gap, "not-begun", "before the first recording");
	return MIN(r, 0);
}

/* What is behind a moment, such as what is still to come, has a reason of its own. */
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

/* Up to when samples were given up in it; 0: in none of it, or in all. */
static uint64_t unsaved_until(const struct side *side, const struct coverage_gap *gap)
{
	return is_unsaved(side, gap) && !gap_causes_is_near(side->unsaved_to_ns, gap->to_ns)
		       ? side->unsaved_to_ns
		       : 0;
}

/* What lies between a recording's last segment and what of it was given up is one stretch with what
 * follows. */
static int tell_gap(struct telling *telling, struct coverage *coverage, size_t number,
		    struct error *error)
{
	struct coverage_gap *gap = &coverage->gaps.items[number], whole = *gap;
	const struct coverage_gap *previous = number ? gap - 1 : NULL;
	struct side before = { 0 }, after = { 0 };
	int r;

	if (previous && previous->cause && strcmp(previous->cause, "unsaved") == 0 &&
	    previous->to_ns == gap->from_ns)
		whole.from_ns = previous->from_ns;
	r = find_sides(telling, &whole, &before, &after, error);
	if (r == 0)
		r = split_at(coverage, number,
			     MAX(unsaved_until(&before, gap), unsaved_until(&after, gap)));
	if (r < 0)
		return r;
	gap = &coverage->gaps.items[number];
	gap_causes_tell_here(telling, gap, &before, &after);
	return gap->cause ? 0 : tell_outside(telling, gap, &after, error);
}

int gap_causes_tell(struct store_reader *reader, const struct store_segments *segments,
		    const struct window *window, struct coverage *coverage, struct error *error)
{
	struct telling telling = { .reader = reader, .segments = segments, .window = window };
	bool begun = false;
	int r = 0;

	if (mutated("forget-gap-cause"))
		return 0;
	for (size_t i = 0; r == 0 && i < coverage->gaps.count; i++) {
		if (coverage->gaps.items[i].cause)
			continue;
		if (!begun) {
			begun = true;
			telling.now_ns = clock_ns(CLOCK_REALTIME);
			telling.is_file = store_reader_is_file(reader);
			telling.recorder = store_reader_recorder(reader, &telling.since_ns);
			r = store_reader_near(reader, window->from_ns, window->to_ns,
					      &telling.before_ns, &telling.after_ns, error);
		}
		if (r == 0)
			r = split_at(coverage, i, telling.now_ns);
		if (r == 0)
			r = tell_gap(&telling, coverage, i, error);
	}
	return r;
}
