// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "query/common/common-internal.h"

/* All controls together, and those of one incident. */
#define ALL_MOST 240
#define EACH_LEAST 3
#define EACH_MOST 40
/* The places in a host's recording that are tried: at least and at most. */
#define PLACES_LEAST 400
#define PLACES_MOST 4000
/* These differences are equally bad: hours of the day, and part of the machine's CPUs. */
#define HOURS_ALIKE 2.0
#define LOAD_ALIKE 0.04
#define LOAD_UNKNOWN 0.3
/* Controls that are about as alike are taken by chance. */
#define BY_CHANCE 0.5
#define DAY_S 86400

struct controls_place {
	size_t segment;
	/* the number of the place in its segment */
	size_t slot;
	uint64_t at_ns;
	double hours, load, distance;
};

struct controls {
	struct common_run *run;
	unsigned int each;
	array_of(struct controls_place) places;
	/* differences of all chosen controls */
	array_of(double) hours, loads;
};

static double controls_hours_apart(uint64_t a_ns, uint64_t b_ns)
{
	double apart = fabs((double)(a_ns / NSEC_PER_SEC % DAY_S) -
			    (double)(b_ns / NSEC_PER_SEC % DAY_S)) /
		       3600;

	return MIN(apart, 24 - apart);
}

/* Adds a place of a segment, if a window of the length fits there. */
static int controls_add_place(struct controls *controls, const struct common_host *host,
			      const struct common_case *of, size_t segment, size_t slot,
			      uint64_t at_ns, uint64_t length_ns)
{
	const struct common_segment *in = &host->segments.items[segment];
	const struct common_segment *own = common_hosts_at(host, of->stall_to_ns - 1);
	double own_load = own ? own->load : NAN;
	struct controls_place place = {
		.segment = segment,
		.slot = slot,
		.at_ns = at_ns,
		.hours = controls_hours_apart(at_ns, of->stall_to_ns),
		.load = fabs(in->load - own_load),
	};

	if (at_ns + length_ns > in->about.end_ns || *in->about.damage)
		return 0;
	place.distance = place.hours / HOURS_ALIKE +
			 (isnan(place.load) ? LOAD_UNKNOWN : place.load) / LOAD_ALIKE +
			 BY_CHANCE * (hash_u64(at_ns ^ of->stall_to_ns) % 1000) / 1000;
	return array_push(&controls->places, place);
}

static int controls_add_segment(struct controls *controls, const struct common_host *host,
				const struct common_case *of, size_t segment, size_t slots,
				uint64_t length_ns)
{
	const struct store_segment *about = &host->segments.items[segment].about;
	uint64_t slot_ns = (about->end_ns - MIN(about->begin_ns, about->end_ns)) / slots;
	int r = 0;

	if (slot_ns < length_ns) {
		slot_ns = length_ns;
		slots = (about->end_ns - MIN(about->begin_ns, about->end_ns)) / length_ns;
	}
	for (size_t i = 0; r == 0 && i < slots; i++) {
		/* the first place varies, too */
		uint64_t at_ns =
			about->begin_ns + (i + hash_u64(about->begin_ns)) % slots * slot_ns;

		/* at a place that varies, so that work of the same period is not in all */
		if (slot_ns > length_ns)
			at_ns += hash_u64(at_ns) % (slot_ns - length_ns);
		r = controls_add_place(controls, host, of, segment, i, at_ns, length_ns);
	}
	return r;
}

static int controls_compare(const void *a, const void *b)
{
	const struct controls_place *left = a, *right = b;

	/*
	 * Windows of one segment are alike. If they came first, each incident would differ from its
	 * controls for that reason alone.
	 */
	if (left->slot != right->slot)
		return left->slot < right->slot ? -1 : 1;
	return (left->distance > right->distance) - (left->distance < right->distance);
}

static int controls_take(struct controls *controls, const struct common_host *host, size_t set,
			 uint64_t length_ns)
{
	struct common_run *run = controls->run;
	const struct common_case *of = &run->answer->cases.items[set];
	uint32_t taken = 0;

	for (size_t i = 0; i < controls->places.count && taken < controls->each; i++) {
		const struct controls_place *place = &controls->places.items[i];
		struct common_window window = { .set = set,
						.rank = taken + 1,
						.host = of->host,
						.segment = place->segment,
						.from_ns = place->at_ns,
						.to_ns = place->at_ns + length_ns };

		if (quiet_overlaps(&host->excluded, window.from_ns, window.to_ns))
			continue;
		taken++;
		if (array_push(&run->windows, window) < 0 ||
		    array_push(&controls->hours, place->hours) < 0 ||
		    array_push(&controls->loads, isnan(place->load) ? 0 : place->load) < 0)
			return -ENOMEM;
	}
	return 0;
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
	struct common_case *of = &run->answer->cases.items[set];
	const struct common_host *host = &run->hosts.items[of->host];
	size_t count = host->segments.count;
	size_t stride = MAX(count / PLACES_MOST, (size_t)1);
	size_t slots = 1 + PLACES_LEAST / MAX(count, (size_t)1);
	struct common_window own = { 0 };
	int r;

	if (!controls_own(run, set, &own))
		return 0;
	of->uptime_s = common_hosts_uptime_s(&host->segments.items[own.segment], of->stall_to_ns);
	of->load = host->segments.items[own.segment].load;
	r = array_push(&run->windows, own);
	controls->places.count = 0;
	for (size_t i = hash_u64(set) % stride; r == 0 && i < count; i += stride)
		r = controls_add_segment(controls, host, of, i, slots, own.to_ns - own.from_ns);
	if (controls->places.count)
		qsort(controls->places.items, controls->places.count,
		      sizeof(*controls->places.items), controls_compare);
	return r < 0 ? r : controls_take(controls, host, set, own.to_ns - own.from_ns);
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

int common_controls_choose(struct common_run *run)
{
	struct common_answer *answer = run->answer;
	struct controls controls = { .run = run };
	int r = 0;

	controls.each = MAX(EACH_LEAST, MIN(EACH_MOST, ALL_MOST / MAX(answer->cases.count, 1u)));
	for (size_t set = 0; r == 0 && set < answer->cases.count; set++)
		r = controls_choose_set(&controls, set);
	answer->time_of_day_ns =
		controls_median(controls.hours.items, controls.hours.count) * 3600 * NSEC_PER_SEC;
	answer->load_apart = controls_median(controls.loads.items, controls.loads.count);
	array_done(&controls.places);
	array_done(&controls.hours);
	array_done(&controls.loads);
	return r;
}
