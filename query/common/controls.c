// SPDX-License-Identifier: GPL-2.0-only
/*
 * Incidents of a host share no control if there are segments enough: each segment of a stratum
 * belongs to one of its incidents, by chance. Two incidents beside the same controls would look
 * more unusual together than they are.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "query/common/common-internal.h"
#include "query/common/strata.h"

/* All controls together, and those of one incident. */
#define ALL_MOST 240
#define EACH_MOST 40
/* The places in a stratum that are tried. */
#define PLACES_LEAST 400
#define DAY_S 86400

struct controls_place {
	size_t segment;
	/* the segment is another incident's */
	bool foreign;
	/* the number of the place in its segment */
	size_t slot;
	uint64_t at_ns;
	/* chooses among the places */
	uint64_t chance;
};

/* How the segments of a host are shared out. */
struct controls_host {
	struct strata strata;
	/* for each segment: the number of the case that it belongs to + 1; 0: nobody needs it */
	uint32_t *owners;
};

struct controls {
	struct common_run *run;
	unsigned int each;
	/* by case: the incident's window; it ends at 0 if the incident is not recorded */
	struct common_window *own;
	/* by case: the next one of its stratum, in a ring */
	uint32_t *next;
	struct controls_host *hosts;
	array_of(struct controls_place) places;
	/* differences of all chosen controls */
	array_of(double) hours, loads;
};

static double controls_hour(uint64_t at_ns)
{
	return (double)(at_ns / NSEC_PER_SEC % DAY_S) / 3600;
}

static double controls_hours_apart(uint64_t a_ns, uint64_t b_ns)
{
	double apart = fabs(controls_hour(a_ns) - controls_hour(b_ns));

	return MIN(apart, 24 - apart);
}

/* Adds the places of a segment where a window of the length fits. */
static int controls_add_segment(struct controls *controls, const struct common_host *host,
				const struct common_case *of, size_t segment, bool foreign,
				size_t slots, uint64_t length_ns)
{
	const struct store_segment *about = &host->segments.items[segment].about;
	uint64_t all_ns = about->end_ns - MIN(about->begin_ns, about->end_ns);
	uint64_t slot_ns = all_ns / slots;
	int r = 0;

	if (*about->damage)
		return 0;
	if (slot_ns < length_ns) {
		slot_ns = length_ns;
		slots = all_ns / length_ns;
	}
	for (size_t i = 0; r == 0 && i < slots; i++) {
		/* the first place varies, too */
		uint64_t at_ns =
			about->begin_ns + (i + hash_u64(about->begin_ns)) % slots * slot_ns;

		/* at a place that varies, so that work of the same period is not in all */
		if (slot_ns > length_ns)
			at_ns += hash_u64(at_ns) % (slot_ns - length_ns);
		r = array_push(&controls->places,
			       (struct controls_place){ segment, foreign, i, at_ns,
							hash_u64(at_ns ^ of->stall_to_ns) });
	}
	return r;
}

static int controls_compare(const void *a, const void *b)
{
	const struct controls_place *left = a, *right = b;

	if (left->foreign != right->foreign)
		return left->foreign ? 1 : -1;
	/*
	 * Windows of one segment are alike. If they came first, each incident would differ from its
	 * controls for that reason alone.
	 */
	if (left->slot != right->slot)
		return left->slot < right->slot ? -1 : 1;
	return (left->chance > right->chance) - (left->chance < right->chance);
}

static int controls_note_differences(struct controls *controls, const struct common_host *host,
				     const struct common_case *of,
				     const struct controls_place *place)
{
	double load = fabs(host->segments.items[place->segment].load - of->load);

	if (array_push(&controls->hours, controls_hours_apart(place->at_ns, of->stall_to_ns)) < 0)
		return -ENOMEM;
	return array_push(&controls->loads, isnan(load) ? 0 : load);
}

static int controls_take(struct controls *controls, const struct common_host *host, size_t set,
			 uint64_t length_ns)
{
	struct common_run *run = controls->run;
	const struct common_case *of = &run->answer->cases.items[set];
	uint32_t taken = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < controls->places.count && taken < controls->each; i++) {
		const struct controls_place *place = &controls->places.items[i];
		struct common_window window = { .set = set,
						.rank = taken + 1,
						.host = of->host,
						.segment = place->segment,
						.from_ns = place->at_ns,
						.to_ns = place->at_ns + length_ns };

		if (place->foreign && taken >= COMMON_CONTROLS_LEAST)
			break;
		if (quiet_overlaps(&host->excluded, window.from_ns, window.to_ns))
			continue;
		taken++;
		r = array_push(&run->windows, window);
		if (r < 0)
			return r;
		r = controls_note_differences(controls, host, of, place);
	}
	return r;
}

/*
 * Returns how many segments a stratum has at least. If most segments have incidents, a stratum
 * needs more of them to have enough others.
 */
static size_t controls_stratum_least(const struct controls *controls, uint32_t number)
{
	const struct common_run *run = controls->run;
	size_t count = run->hosts.items[number].segments.count, cases = 0;

	for (size_t i = 0; i < run->answer->cases.count; i++)
		cases += run->answer->cases.items[i].host == number;
	return (controls->each + 1) * count / MAX(count - MIN(cases, count), (size_t)1);
}

static int controls_divide(struct controls *controls, uint32_t number)
{
	const struct common_host *host = &controls->run->hosts.items[number];
	size_t count = host->segments.count;
	_cleanup_free_ struct strata_segment *segments = calloc(count + 1, sizeof(*segments));

	if (!segments)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		segments[i] = (struct strata_segment){
			controls_hour(host->segments.items[i].about.begin_ns),
			host->segments.items[i].load,
		};
	return strata_make(segments, count, controls_stratum_least(controls, number),
			   &controls->hosts[number].strata);
}

static int controls_compare_chances(const void *a, const void *b)
{
	uint64_t left = hash_u64(*(const uint32_t *)a), right = hash_u64(*(const uint32_t *)b);

	return (left > right) - (left < right);
}

/*
 * Makes a ring of the incidents of each stratum. Sets the last incident of each stratum, plus 1,
 * and gives each incident its own segment.
 */
static void controls_link(struct controls *controls, uint32_t number, uint32_t *last)
{
	struct controls_host *shared = &controls->hosts[number];

	for (size_t i = 0; i < controls->run->answer->cases.count; i++) {
		const struct common_window *own = &controls->own[i];
		uint32_t *in;

		if (!own->to_ns || own->host != number)
			continue;
		in = &last[shared->strata.of[own->segment]];
		controls->next[i] = *in ? controls->next[*in - 1] : i;
		if (*in)
			controls->next[*in - 1] = i;
		*in = i + 1;
		if (!shared->owners[own->segment])
			shared->owners[own->segment] = i + 1;
	}
}

/* Lets the incidents of each stratum take its other segments in turn, by chance. */
static int controls_share_out(struct controls *controls, uint32_t number)
{
	struct controls_host *shared = &controls->hosts[number];
	size_t count = controls->run->hosts.items[number].segments.count;
	_cleanup_free_ uint32_t *order = calloc(count + 1, sizeof(*order));
	_cleanup_free_ uint32_t *last = calloc(count + 1, sizeof(*last));
	int r = controls_divide(controls, number);

	shared->owners = calloc(count + 1, sizeof(*shared->owners));
	if (r < 0 || !order || !last || !shared->owners)
		return -ENOMEM;
	controls_link(controls, number, last);
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	qsort(order, count, sizeof(*order), controls_compare_chances);
	for (size_t i = 0; i < count; i++) {
		uint32_t *in = &last[shared->strata.of[order[i]]];

		if (shared->owners[order[i]] || !*in)
			continue;
		*in = controls->next[*in - 1] + 1;
		shared->owners[order[i]] = *in;
	}
	return 0;
}

/* Lists the places in the stratum of an incident's window, in the order of choice. */
static int controls_list_places(struct controls *controls, size_t set)
{
	const struct common_case *of = &controls->run->answer->cases.items[set];
	const struct common_host *host = &controls->run->hosts.items[of->host];
	const struct common_window *own = &controls->own[set];
	const struct controls_host *shared = &controls->hosts[of->host];
	const struct strata *strata = &shared->strata;
	uint32_t stratum = strata->of[own->segment];
	size_t from = strata->firsts[stratum], to = strata->firsts[stratum + 1];
	size_t slots = 1 + PLACES_LEAST / (to - from);
	int r = 0;

	controls->places.count = 0;
	for (size_t i = from; r == 0 && i < to; i++)
		r = controls_add_segment(controls, host, of, strata->order[i],
					 shared->owners[strata->order[i]] != set + 1, slots,
					 own->to_ns - own->from_ns);
	if (controls->places.count)
		qsort(controls->places.items, controls->places.count,
		      sizeof(*controls->places.items), controls_compare);
	return r;
}

/* Returns the window of an incident: the end of its stall, as far as one segment has it. */
static bool controls_own(const struct common_run *run, size_t set, struct common_window *window)
{
	const struct common_case *of = &run->answer->cases.items[set];
	const struct common_host *host = &run->hosts.items[of->host];
	const struct common_segment *in = NULL;
	uint64_t from_ns =
		MAX(of->stall_from_ns, of->stall_to_ns - MIN(of->stall_to_ns, COMMON_WINDOW_NS));
	uint64_t most_ns = 0;

	for (uint64_t at_ns = from_ns; at_ns < of->stall_to_ns; at_ns += NSEC_PER_SEC / 2) {
		const struct common_segment *segment = common_hosts_at(host, at_ns);
		uint64_t begin_ns, end_ns;

		if (!segment)
			continue;
		begin_ns = MAX(segment->about.begin_ns, from_ns);
		end_ns = MIN(segment->about.end_ns, of->stall_to_ns);
		if (end_ns - begin_ns <= most_ns)
			continue;
		most_ns = end_ns - begin_ns;
		in = segment;
		*window = (struct common_window){ .set = set,
						  .host = of->host,
						  .segment = segment - host->segments.items,
						  .from_ns = begin_ns,
						  .to_ns = end_ns };
	}
	return in && !*in->about.damage;
}

static int controls_choose_set(struct controls *controls, size_t set)
{
	struct common_run *run = controls->run;
	const struct common_window *own = &controls->own[set];
	int r;

	if (!own->to_ns)
		return 0;
	r = array_push(&run->windows, *own);
	if (r < 0)
		return r;
	r = controls_list_places(controls, set);
	return r < 0 ? r
		     : controls_take(controls, &run->hosts.items[own->host], set,
				     own->to_ns - own->from_ns);
}

static void controls_find_own(struct controls *controls)
{
	struct common_run *run = controls->run;

	for (size_t set = 0; set < run->answer->cases.count; set++) {
		struct common_case *of = &run->answer->cases.items[set];
		struct common_window *own = &controls->own[set];
		const struct common_segment *segment;

		if (!controls_own(run, set, own)) {
			*own = (struct common_window){ 0 };
			continue;
		}
		segment = &run->hosts.items[of->host].segments.items[own->segment];
		of->uptime_s = common_hosts_uptime_s(segment, of->stall_to_ns);
		of->load = segment->load;
	}
}

static int controls_compare_numbers(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double controls_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), controls_compare_numbers);
	return values[count / 2];
}

static int controls_init(struct controls *controls)
{
	const struct common_run *run = controls->run;
	size_t cases = run->answer->cases.count;

	controls->each =
		MAX(COMMON_CONTROLS_LEAST, MIN(EACH_MOST, ALL_MOST / MAX(cases, (size_t)1)));
	controls->own = calloc(cases + 1, sizeof(*controls->own));
	controls->next = calloc(cases + 1, sizeof(*controls->next));
	controls->hosts = calloc(run->hosts.count + 1, sizeof(*controls->hosts));
	return controls->own && controls->next && controls->hosts ? 0 : -ENOMEM;
}

static void controls_done(struct controls *controls)
{
	for (size_t i = 0; controls->hosts && i < controls->run->hosts.count; i++) {
		strata_done(&controls->hosts[i].strata);
		free(controls->hosts[i].owners);
	}
	free(controls->own);
	free(controls->next);
	free(controls->hosts);
	array_done(&controls->places);
	array_done(&controls->hours);
	array_done(&controls->loads);
}

int common_controls_choose(struct common_run *run)
{
	struct common_answer *answer = run->answer;
	_cleanup_(controls_done) struct controls controls = { .run = run };
	int r = controls_init(&controls);

	if (r < 0)
		return r;
	controls_find_own(&controls);
	for (size_t host = 0; r == 0 && host < run->hosts.count; host++)
		r = controls_share_out(&controls, host);
	for (size_t set = 0; r == 0 && set < answer->cases.count; set++)
		r = controls_choose_set(&controls, set);
	if (r < 0)
		return r;
	answer->time_of_day_ns =
		controls_median(controls.hours.items, controls.hours.count) * 3600 * NSEC_PER_SEC;
	answer->load_apart = controls_median(controls.loads.items, controls.loads.count);
	return 0;
}
