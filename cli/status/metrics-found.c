// SPDX-License-Identifier: GPL-2.0-only
#include "cli/status/metrics-found.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/window/incident-book.h"
#include "query/sums/spikes.h"

/* The source of incidents that a recorder found, not `incidents scan --add`. */
#define FROM_RECORDER "kmsg"
/* In per cent. A CPU that is busy for a smaller part of a second had idle time left. */
#define SATURATED 95
/* Time in which to look for the last sealed segment; a segment lasts at most an hour. */
#define SEALED_NS (2 * 3600 * NSEC_PER_SEC)

/* Incidents of one kind, device and queue. `kind` borrows from the book. */
struct metrics_incident {
	const char *kind;
	enum severity severity;
	char device[64], interface[32], queue[24];
	uint64_t count;
	uint64_t last_ns;
};

struct metrics_incidents {
	array_of(struct metrics_incident) list;
};

static void metrics_found_copy(const struct fields *fields, const char *name, char *to, size_t size)
{
	const struct field *field = fields_find(fields, name);

	if (field)
		snprintf(to, size, "%.*s", (int)MIN(field->size, size - 1), field->value);
}

static bool metrics_found_same(const struct metrics_incident *a, const struct metrics_incident *b)
{
	return strcmp(a->kind, b->kind) == 0 && a->severity == b->severity &&
	       strcmp(a->device, b->device) == 0 && strcmp(a->interface, b->interface) == 0 &&
	       strcmp(a->queue, b->queue) == 0;
}

static int metrics_found_add(struct metrics_incidents *incidents,
			     const struct metrics_incident *incident)
{
	/* incidents without a row of their own share one row per severity */
	struct metrics_incident others = { .kind = "others", .severity = incident->severity };
	const struct metrics_incident *key = incident;

	for (;;) {
		for (size_t i = 0; i < incidents->list.count; i++) {
			struct metrics_incident *row = &incidents->list.items[i];

			if (!metrics_found_same(row, key))
				continue;
			row->count += incident->count;
			row->last_ns = MAX(row->last_ns, incident->last_ns);
			return 0;
		}
		if (incidents->list.count < METRICS_INCIDENT_ROWS || key == &others)
			break;
		key = &others;
	}
	others.count = incident->count;
	others.last_ns = incident->last_ns;
	return array_push(&incidents->list, *key);
}

static int metrics_found_count(const struct book *book, uint64_t since_ns,
			       struct metrics_incidents *incidents)
{
	_cleanup_(buffer_done) struct buffer names = { 0 };
	int r = 0;

	/*
	 * count the last incidents first, because the rows are limited, and alerts are about the
	 * last incidents
	 */
	for (size_t i = book->rows.count; r == 0 && i-- > 0;) {
		const struct book_row *row = &book->rows.items[i];
		struct metrics_incident one = {
			.count = row->time_ns >= since_ns,
			.last_ns = row->time_ns,
		};
		struct incident incident;

		if (strcmp(book_text(book, row->source), FROM_RECORDER) != 0)
			continue;
		names.size = 0;
		r = book_incident(book, row, &names, one.device, &incident);
		if (r < 0)
			return r;
		one.kind = incident.kind->name;
		one.severity = incident.kind->severity;
		if (incident.device != one.device)
			snprintf(one.device, sizeof(one.device), "%s", incident.device);
		metrics_found_copy(&incident.fields, "ifname", one.interface,
				   sizeof(one.interface));
		metrics_found_copy(&incident.fields, "qid", one.queue, sizeof(one.queue));
		r = metrics_found_add(incidents, &one);
	}
	return r;
}

static void metrics_found_labels(struct metrics_text *metrics, const struct metrics_incident *row)
{
	metrics_label(metrics, "kind", row->kind);
	metrics_label(metrics, "severity", severity_name(row->severity));
	metrics_label(metrics, "device", row->device);
	metrics_label(metrics, "interface", row->interface);
	metrics_label(metrics, "queue", row->queue);
}

static void metrics_found_put(struct metrics_text *metrics,
			      const struct metrics_incidents *incidents)
{
	metrics_family(metrics, "perftape_incidents", METRICS_COUNTER,
		       "Incidents in the kernel's log since the recorder started.");
	for (size_t i = 0; i < incidents->list.count; i++) {
		metrics_found_labels(metrics, &incidents->list.items[i]);
		metrics_number(metrics, incidents->list.items[i].count);
	}
	metrics_family(metrics, "perftape_incident_last_timestamp_seconds", METRICS_GAUGE,
		       "Time of the last such incident in the store.");
	for (size_t i = 0; i < incidents->list.count; i++) {
		metrics_found_labels(metrics, &incidents->list.items[i]);
		metrics_seconds(metrics, incidents->list.items[i].last_ns);
	}
}

int metrics_put_incidents(struct metrics_text *metrics, struct store_reader *reader,
			  uint64_t since_ns, struct error *error)
{
	struct metrics_incidents incidents = { 0 };
	_cleanup_(book_done) struct book book = { 0 };
	int r = book_open_bare(reader, &book, error);

	if (r < 0)
		return r;
	r = metrics_found_count(&book, since_ns, &incidents);
	if (r == 0)
		metrics_found_put(metrics, &incidents);
	array_done(&incidents.list);
	return r;
}

/*
 * Finds a window that ends with the last sealed segment, and counts the sealed segments of the last
 * hours. Leaves out the spool, because each request of a monitoring system would have to read the
 * samples of the whole spool.
 */
static int metrics_found_window(struct store_reader *reader, uint64_t now_ns,
				struct window *ret_window, uint64_t *ret_segments,
				struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = store_reader_list(reader, now_ns - SEALED_NS, now_ns, &segments, error);

	*ret_segments = 0;
	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		if (segments.list.items[i].unsealed || *segments.list.items[i].damage)
			continue;
		ret_window->to_ns = MAX(ret_window->to_ns, segments.list.items[i].end_ns);
		++*ret_segments;
	}
	if (ret_window->to_ns)
		ret_window->from_ns = ret_window->to_ns - METRICS_SATURATED_NS;
	return r;
}

static int metrics_found_add_spike(struct metrics_saturated *saturated, const struct window *window,
				   const struct spike *spike)
{
	uint64_t from_ns = MAX(spike->from_ns, window->from_ns);
	uint64_t to_ns = MIN(spike->to_ns, window->to_ns);
	struct metrics_cpu *cpu;

	while (saturated->cpus.count <= spike->cpu)
		if (array_push(&saturated->cpus, (struct metrics_cpu){ 0 }) < 0)
			return -ENOMEM;
	if (from_ns >= to_ns)
		return 0;
	cpu = &saturated->cpus.items[spike->cpu];
	cpu->saturated_ns += to_ns - from_ns;
	cpu->kernel_ns += (to_ns - from_ns) * (spike->kernel + spike->irq);
	return 0;
}

/* Finds the saturated CPUs of a window again, which takes reading segments. */
static int metrics_found_saturated(struct metrics_saturated *saturated, struct store_reader *reader,
				   const struct window *window, struct error *error)
{
	struct filter filter = { 0 };
	struct spikes_options options = {
		.busy = SATURATED,
		.question = { .window = *window, .filter = &filter },
	};
	_cleanup_(spikes_done) struct spikes spikes = { 0 };
	int r = window->to_ns ? spikes_find(reader, &options, &spikes, error) : 0;

	saturated->cpus.count = 0;
	for (size_t i = 0; r == 0 && i < spikes.list.count; i++)
		r = metrics_found_add_spike(saturated, window, &spikes.list.items[i]);
	return r;
}

static void metrics_found_put_cpus(struct metrics_text *metrics,
				   const struct metrics_saturated *saturated, bool kernel)
{
	char name[24];

	for (size_t i = 0; i < saturated->cpus.count; i++) {
		const struct metrics_cpu *cpu = &saturated->cpus.items[i];

		if (!cpu->saturated_ns)
			continue;
		snprintf(name, sizeof(name), "%zu", i);
		metrics_label(metrics, "cpu", name);
		metrics_seconds(metrics, kernel ? cpu->kernel_ns : cpu->saturated_ns);
	}
}

int metrics_put_saturated(struct metrics_text *metrics, struct store_reader *reader,
			  uint64_t now_ns, struct metrics_saturated *saturated, struct error *error)
{
	struct window window = { 0 };
	uint64_t segments;
	int r = metrics_found_window(reader, now_ns, &window, &segments, error);

	if (r == 0 && (window.to_ns != saturated->to_ns || segments != saturated->segments))
		r = metrics_found_saturated(saturated, reader, &window, error);
	saturated->to_ns = r < 0 ? 0 : window.to_ns;
	saturated->segments = segments;
	metrics_family(
		metrics, "perftape_saturated_seconds", METRICS_GAUGE,
		"Seconds of the last 10 minutes in which this CPU had no idle time, but most had.");
	metrics_found_put_cpus(metrics, saturated, false);
	metrics_family(metrics, "perftape_saturated_kernel_seconds", METRICS_GAUGE,
		       "The part of perftape_saturated_seconds in the kernel and in interrupts.");
	metrics_found_put_cpus(metrics, saturated, true);
	return r;
}
