// SPDX-License-Identifier: GPL-2.0-only
/* A full CPU as a sign: since when it was full before each incident. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/common/common-internal.h"
#include "query/sums/spikes.h"

#define FULL_BUSY 95
#define FULL_LEAST_NS NSEC_PER_SEC
/* A full CPU is a sign only if it was full at most this long before the stall. */
#define FULL_BEFORE_NS (60 * NSEC_PER_SEC)
/* Controls rarely have the sign. */
#define CONTROLS_MOST 0.2

static int full_sign_compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Sets since when a CPU was full, from the spikes of a host. */
static int full_sign_find(struct common_run *run, size_t number, struct error *error)
{
	struct common_case *of = &run->answer->cases.items[number];
	struct spikes_options search = {
		.question = run->options->question,
		.min_ns = FULL_LEAST_NS,
		.busy = FULL_BUSY,
		.all = true,
	};
	/* other CPUs do not matter, and take most of the time */
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(spikes_done) struct spikes spikes = { 0 };
	int r = cpu_filter_add(&filter.cpus, of->full_cpu);

	if (r < 0)
		return r;
	search.question.filter = &filter;
	search.question.window = (struct window){
		.from_ns = of->stall_from_ns - MIN(of->stall_from_ns, FULL_BEFORE_NS),
		.to_ns = of->stall_to_ns,
	};
	r = spikes_find(run->options->stores[of->store].reader, &search, &spikes, error);
	for (size_t i = 0; r == 0 && i < spikes.list.count; i++) {
		const struct spike *spike = &spikes.list.items[i];

		if (spike->cpu == of->full_cpu && spike->to_ns > of->stall_from_ns &&
		    spike->from_ns < of->stall_to_ns)
			of->full_from_ns = spike->from_ns;
	}
	return r;
}

int common_full_sign_find(struct common_run *run, struct error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->answer->cases.count; i++)
		if (run->answer->cases.items[i].read &&
		    run->answer->cases.items[i].full_cpu != NO_CPU)
			r = full_sign_find(run, i, error);
	return r;
}

/* A full CPU is a sign if most incidents have one, and few controls. */
int common_full_sign_set(struct common_run *run)
{
	struct common_answer *answer = run->answer;
	_cleanup_free_ uint64_t *before = calloc(answer->cases.count + 1, sizeof(*before));
	struct common_sign sign = { .vain = NAN };
	size_t count = 0;

	if (!before)
		return -ENOMEM;
	for (size_t i = 0; i < run->windows.count; i++) {
		const struct common_window *window = &run->windows.items[i];

		if (!window->read)
			continue;
		sign.of_controls += window->rank > 0;
		sign.controls += window->rank && window->full_cpu != NO_CPU;
	}
	for (size_t i = 0; i < answer->cases.count; i++) {
		const struct common_case *of = &answer->cases.items[i];

		sign.of_cases += of->read;
		sign.cases += of->read && of->full_cpu != NO_CPU;
		if (of->read && of->full_from_ns)
			before[count++] = of->stall_to_ns - MIN(of->full_from_ns, of->stall_to_ns);
	}
	if (count < 2 || sign.cases * 2 < sign.of_cases ||
	    sign.controls > CONTROLS_MOST * sign.of_controls)
		return 0;
	qsort(before, count, sizeof(*before), full_sign_compare);
	sign.before_ns = before[count / 2];
	sign.least_ns = before[0];
	answer->signs[answer->sign_count++] = sign;
	return 0;
}
