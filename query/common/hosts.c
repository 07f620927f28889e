// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/common/common-internal.h"
#include "store/disk/store-incident.h"
#include "tape/outline.h"
#include "tape/tape.h"

/* No control lies this close to an incident, before or after it. */
#define APART_LEAST_NS (10 * NSEC_PER_SEC)
#define APART_MOST_NS (60 * NSEC_PER_SEC)
/* The distance is this part of the recorded time, within the limits above. */
#define APART_PART 240

/* Reads what the first readable segment says about its host. */
static int hosts_read_facts(struct common_run *run, size_t store,
			    const struct store_segments *segments, struct common_host *ret_host)
{
	static const struct segment_want want = { 0, UINT64_MAX, 0, 1 };
	const struct common_store *of = &run->options->stores[store];

	for (size_t i = 0; i < segments->list.count; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = NULL;
		const char *name;
		int r = store_reader_load(of->reader, &segments->list.items[i], &want, &tape, NULL);

		if (error_is_exhaustion(r))
			return r;
		if (r < 0)
			continue;
		name = tape_fact(tape, "host");
		name = *name ? name : of->path;
		ret_host->sample_ns = stack_class_sample_ns(tape, segments->list.items[i].samples);
		ret_host->cpus = stack_class_host_cpus(tape);
		return strings_add(&run->answer->names, name, strlen(name), &ret_host->name);
	}
	return strings_add(&run->answer->names, of->path, strlen(of->path), &ret_host->name);
}

static int hosts_find(struct common_run *run, const struct common_host *host, uint32_t *ret_host)
{
	for (size_t i = 0; i < run->hosts.count; i++)
		if (run->hosts.items[i].name == host->name) {
			*ret_host = i;
			return 0;
		}
	*ret_host = run->hosts.count;
	return array_push(&run->hosts, *host);
}

struct hosts_outlines {
	struct common_host *host;
	size_t next;
};

static int hosts_see_outline(void *context, const struct store_segment *segment,
			     const struct outline *outline)
{
	struct hosts_outlines *outlines = context;
	struct common_segment *to = &outlines->host->segments.items[outlines->next++];
	struct stack_class spent;
	uint64_t cpus;

	if (segment->end_ns <= segment->begin_ns)
		return 0;
	/* a CPU without work rarely takes samples */
	if (!outline && outlines->host->sample_ns && outlines->host->cpus)
		to->load = (double)segment->samples * outlines->host->sample_ns /
			   outlines->host->cpus / (segment->end_ns - segment->begin_ns);
	if (!outline)
		return 0;
	spent = outline_spent(outline);
	cpus = outline->host_cpus ? outline->host_cpus : MAX(outline->cpus.count, (size_t)1);
	to->load =
		(double)stack_class_work_ns(&spent) / cpus / (segment->end_ns - segment->begin_ns);
	return 0;
}

static int hosts_add_segments(struct common_run *run, size_t store, struct common_host *host,
			      const struct store_segments *segments)
{
	struct hosts_outlines outlines = { host, host->segments.count };

	for (size_t i = 0; i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];

		if (array_push(&host->segments,
			       (struct common_segment){ store, *segment, NAN, 0 }) < 0)
			return -ENOMEM;
	}
	return store_reader_outlines(run->options->stores[store].reader, segments,
				     hosts_see_outline, &outlines);
}

static int hosts_exclude(struct common_run *run, size_t store, struct common_host *host,
			 struct error *error)
{
	static const struct quiet_span nothing;
	const struct quiet_span all = { 0, UINT64_MAX };

	return quiet_exclude(run->options->stores[store].reader, nothing, all, &host->excluded,
			     error);
}

static int hosts_add_store(struct common_run *run, size_t store, struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	struct common_answer *answer = run->answer;
	struct common_host facts = { 0 };
	uint32_t host = 0;
	int r = store_reader_find(run->options->stores[store].reader, 0, UINT64_MAX, &segments,
				  error);

	if (r < 0)
		return r;
	r = hosts_read_facts(run, store, &segments, &facts);
	if (r < 0)
		return r;
	r = hosts_find(run, &facts, &host);
	if (r < 0)
		return r;
	r = hosts_add_segments(run, store, &run->hosts.items[host], &segments);
	if (r != 0)
		return r;
	r = hosts_exclude(run, store, &run->hosts.items[host], error);
	for (size_t i = 0; r == 0 && i < answer->cases.count; i++)
		if (answer->cases.items[i].store == store)
			answer->cases.items[i].host = host;
	return r;
}

static int hosts_compare(const void *a, const void *b)
{
	const struct common_segment *left = a, *right = b;
	uint64_t from = left->about.begin_ns, to = right->about.begin_ns;

	return (from > to) - (from < to);
}

/* Widens the excluded time of a long recording, and adds the cases, whatever their severity. */
static int hosts_widen(struct common_run *run, uint32_t number)
{
	struct common_host *host = &run->hosts.items[number];
	uint64_t apart_ns = MAX(APART_LEAST_NS, MIN(APART_MOST_NS, host->recorded_ns / APART_PART));
	struct common_answer *answer = run->answer;

	answer->apart_ns = answer->apart_ns ? MIN(answer->apart_ns, apart_ns) : apart_ns;
	for (size_t i = 0; i < host->excluded.list.count; i++) {
		struct quiet_span *span = &host->excluded.list.items[i];
		uint64_t more_ns = apart_ns - APART_LEAST_NS;

		if (span->to_ns)
			*span = (struct quiet_span){ span->from_ns - MIN(span->from_ns, more_ns),
						     span->to_ns + more_ns };
	}
	for (size_t i = 0; i < answer->cases.count; i++) {
		const struct common_case *of = &answer->cases.items[i];
		struct quiet_span span = { of->stall_from_ns - MIN(of->stall_from_ns, apart_ns),
					   of->stall_to_ns + apart_ns };

		if (of->host == number && array_push(&host->excluded.list, span) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void hosts_sort(struct common_host *host)
{
	if (host->segments.count)
		qsort(host->segments.items, host->segments.count, sizeof(*host->segments.items),
		      hosts_compare);
	for (size_t i = 0; i < host->segments.count; i++) {
		struct common_segment *segment = &host->segments.items[i];

		segment->before_ns = host->recorded_ns;
		host->recorded_ns +=
			segment->about.end_ns - MIN(segment->about.begin_ns, segment->about.end_ns);
	}
}

int common_hosts_read(struct common_run *run, struct error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->options->store_count; i++)
		r = hosts_add_store(run, i, error);
	for (size_t i = 0; r == 0 && i < run->hosts.count; i++) {
		hosts_sort(&run->hosts.items[i]);
		r = hosts_widen(run, i);
	}
	return r;
}

void common_hosts_done(struct common_run *run)
{
	for (size_t i = 0; i < run->hosts.count; i++) {
		array_done(&run->hosts.items[i].segments);
		array_done(&run->hosts.items[i].excluded.list);
	}
	array_done(&run->hosts);
}

const struct common_segment *common_hosts_at(const struct common_host *host, uint64_t at_ns)
{
	size_t low = 0, high = host->segments.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (host->segments.items[middle].about.begin_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	/* snapshots of one host may overlap */
	for (size_t i = low; i-- > 0 && i + 8 > low;)
		if (host->segments.items[i].about.end_ns > at_ns)
			return &host->segments.items[i];
	return NULL;
}

double common_hosts_uptime_s(const struct common_segment *segment, uint64_t at_ns)
{
	int64_t into_ns = (int64_t)(at_ns - segment->about.begin_ns);

	return ((double)segment->about.perf_begin_ns + into_ns) / NSEC_PER_SEC;
}
