// SPDX-License-Identifier: GPL-2.0-only
#include "query/coverage/spans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static int compare_spans(const void *a, const void *b)
{
	const struct coverage_span *left = a, *right = b;
	int boots = strcmp(left->boot_id, right->boot_id);

	if (boots)
		return boots;
	return (left->perf_begin_ns > right->perf_begin_ns) -
	       (left->perf_begin_ns < right->perf_begin_ns);
}

int spans_join(struct coverage_parts *parts)
{
	struct coverage_span *spans = parts->spans.items;
	int r = 0;

	if (parts->spans.count)
		qsort(spans, parts->spans.count, sizeof(*spans), compare_spans);
	for (size_t i = 1; r == 0 && i < parts->spans.count; i++)
		if (spans[i - 1].perf_end_ns == spans[i].perf_begin_ns &&
		    !strcmp(spans[i - 1].boot_id, spans[i].boot_id))
			r = coverage_add_recorded(parts, spans[i - 1].end_ns, spans[i].begin_ns);
	return r;
}

static bool spans_follows(const struct coverage_span *span, const struct coverage_span *before)
{
	return !strcmp(before->boot_id, span->boot_id) &&
	       before->perf_end_ns < span->perf_begin_ns + COVERAGE_GAP_MIN_NS &&
	       span->perf_begin_ns < before->perf_end_ns + COVERAGE_GAP_MIN_NS;
}

int spans_explain_unsaved(struct coverage_parts *parts)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < parts->unsaved.count; i++) {
		const struct coverage_span *span = &parts->unsaved.items[i];
		struct coverage_gap gap = { .from_ns = span->begin_ns,
					    .to_ns = span->end_ns,
					    .cause = COVERAGE_CAUSE_UNSAVED };

		for (size_t j = 0; j < parts->spans.count; j++)
			if (spans_follows(span, &parts->spans.items[j]))
				gap.from_ns = MIN(gap.from_ns, parts->spans.items[j].end_ns);
		snprintf(gap.why, sizeof(gap.why), "unsaved: the store could not be written");
		r = array_push(&parts->reasons, gap);
	}
	return r;
}
