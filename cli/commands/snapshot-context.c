// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/snapshot-context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sort.h"
#include "cli/answer/screen.h"
#include "query/sums/kept-baseline.h"
#include "query/sums/tally-tape.h"
#include "tape/clocks.h"

/*
 * The time around the window to read for the baseline, as in `top`. The read may take longer than
 * in `top`, because nobody waits for a snapshot.
 */
#define AROUND_NS (12 * 3600 * NSEC_PER_SEC)
#define BASELINE_NS (2 * NSEC_PER_SEC)

static int snapshot_context_see(void *argument, const struct store_incident *incident)
{
	struct snapshot_context *context = argument;
	struct noted_incident noted = {
		.id = incident->id,
		.time_ns = incident->time_ns,
		.stall_ns = MIN(incident->stall_ns, incident->time_ns),
		.perf_ns = incident->perf_ns,
		.severity = incident->severity,
	};
	struct {
		const char *text;
		uint32_t *id;
	} texts[] = {
		{ incident->kind, &noted.kind },       { incident->text, &noted.text },
		{ incident->source, &noted.source },   { incident->fields, &noted.fields },
		{ incident->boot_id, &noted.boot_id },
	};

	if (*incident->segment)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strings_add(&context->strings, texts[i].text, strlen(texts[i].text),
				texts[i].id) < 0)
			return -ENOMEM;
	return array_push(&context->noted, noted);
}

int snapshot_context_begin(struct snapshot_context *context, struct store_reader *reader,
			   const struct window *window, struct error *error)
{
	int r = tally_new(&context->names);

	return r < 0 ? r
		     : store_reader_incidents(reader, window->from_ns, window->to_ns,
					      snapshot_context_see, context, error);
}

void snapshot_context_done(struct snapshot_context *context)
{
	strings_done(&context->strings);
	array_done(&context->noted);
	context->names = tally_free(context->names);
}

static int snapshot_context_set_time(struct tape *tape, const char *fact, uint64_t time_ns)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, time_ns);
	return tape_set_fact(tape, fact, time_ns ? digits : "");
}

static int set_window(struct tape *tape, const struct window *window)
{
	int r = snapshot_context_set_time(tape, TAPE_WINDOW_FROM, window->from_ns);

	if (r < 0)
		return r;
	r = snapshot_context_set_time(tape, TAPE_WINDOW_TO, window->to_ns);
	return r < 0 ? r : snapshot_context_set_time(tape, TAPE_WINDOW_AT, window->at_ns);
}

static int copy_string(const struct snapshot_context *context, uint32_t from, struct tape *tape,
		       uint32_t *ret_id)
{
	const char *text = strings_at(&context->strings, from);

	return strings_add(&tape->strings, text, strlen(text), ret_id);
}

static int put_field(struct tape *tape, const char *name, size_t name_size, const char *value,
		     size_t value_size)
{
	struct tape_fact field;

	if (strings_add(&tape->strings, name, name_size, &field.key) < 0 ||
	    strings_add(&tape->strings, value, value_size, &field.value) < 0)
		return -ENOMEM;
	return array_push(&tape->fields, field);
}

/* Copies lines NAME=VALUE, and adds the incident's number. */
static int put_fields(struct tape *tape, uint64_t id, const char *rows, struct tape_fields *fields)
{
	char digits[24];
	int size = snprintf(digits, sizeof(digits), "%" PRIu64, id);
	int r = 0;

	fields->first = tape->fields.count;
	if (id)
		r = put_field(tape, TAPE_INCIDENT_ID, strlen(TAPE_INCIDENT_ID), digits, size);
	while (r == 0 && *rows) {
		size_t length = strcspn(rows, "\n");
		const char *equals = memchr(rows, '=', length);

		if (equals)
			r = put_field(tape, rows, equals - rows, equals + 1,
				      rows + length - equals - 1);
		rows += length + (rows[length] == '\n');
	}
	fields->count = tape->fields.count - fields->first;
	return r;
}

/* Returns the incident's time on the tape's clock. */
static uint64_t perf_time(const struct snapshot_context *context,
			  const struct noted_incident *noted, const struct tape *tape)
{
	const char *boot_id = strings_at(&context->strings, noted->boot_id);
	struct clocks_moment moments[CLOCKS_MOMENTS_MAX];

	if (noted->perf_ns && strcmp(boot_id, tape_fact(tape, "boot_id")) == 0)
		return noted->perf_ns;
	return clocks_to_perf(tape, CLOCKS_REALTIME, noted->time_ns, moments) ? moments[0].perf_ns
									      : tape->begin_ns;
}

static int add_incident(const struct snapshot_context *context, const struct noted_incident *noted,
			struct tape *tape)
{
	struct tape_incident incident = { .severity = noted->severity };

	incident.time_ns = perf_time(context, noted, tape);
	incident.stall_ns = incident.time_ns - (noted->time_ns - noted->stall_ns);
	if (copy_string(context, noted->kind, tape, &incident.kind) < 0 ||
	    copy_string(context, noted->text, tape, &incident.text) < 0 ||
	    copy_string(context, noted->source, tape, &incident.source) < 0 ||
	    put_fields(tape, noted->id, strings_at(&context->strings, noted->fields),
		       &incident.fields) < 0)
		return -ENOMEM;
	return array_push(&tape->incidents, incident);
}

static int sort_incidents(struct tape *tape)
{
	_cleanup_free_ void *scratch = NULL;

	if (sort_array_is_sorted(&tape->incidents, time_ns))
		return 0;
	scratch = malloc(tape->incidents.count * sizeof(*tape->incidents.items));
	if (!scratch)
		return -ENOMEM;
	sort_array(&tape->incidents, scratch, time_ns);
	return 0;
}

/*
 * Adds the incidents up to the tape's end. An incident in a gap goes into the tape after the gap,
 * or into the last tape.
 */
static int add_incidents(struct snapshot_context *context, struct tape *tape, bool is_last)
{
	uint64_t from_ns, to_ns;
	int r = 0;

	clocks_span(tape, tape->begin_ns, tape->end_ns, &from_ns, &to_ns);
	while (r == 0 && context->next < context->noted.count &&
	       (is_last || context->noted.items[context->next].time_ns < to_ns))
		r = add_incident(context, &context->noted.items[context->next++], tape);
	return r < 0 ? r : sort_incidents(tape);
}

static int add_baseline(const struct snapshot_context *context, const struct loader *loader,
			struct tape *tape, struct error *error)
{
	const struct baseline_options options = {
		.question = loader->question,
		.around_ns = AROUND_NS,
		.limit_ns = BASELINE_NS,
		.threads = screen_threads(),
	};
	_cleanup_(baseline_done) struct baseline baseline = { 0 };
	int r = baseline_make(loader->reader, &options, &baseline, error);

	return r != 0 ? r : kept_baseline_add(&baseline, context->names, tape);
}

int snapshot_context_add(struct snapshot_context *context, const struct loader *loader,
			 struct tape *tape, bool is_last, struct error *error)
{
	uint64_t sample_ns = stack_class_sample_ns(tape, tape->samples.count);
	int r = set_window(tape, &loader->question.window);

	if (r < 0)
		return r;
	r = add_incidents(context, tape, is_last);
	if (r < 0)
		return r;
	r = tally_add_samples(context->names, tape, NULL, sample_ns, TALLY_NAMES);
	return r < 0 || !is_last ? r : add_baseline(context, loader, tape, error);
}
