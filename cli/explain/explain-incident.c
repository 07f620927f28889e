// SPDX-License-Identifier: GPL-2.0-only
#include "cli/explain/explain-incident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/window/incident-book.h"
#include "cli/window/incident-choice.h"
#include "cli/window/incident-window.h"
#include "incidents/logs/scanner.h"

/* Without a stated begin, a stall began at most this long before its line. */
#define BEFORE_NS (10 * NSEC_PER_SEC)
/* A recorded line at the time of a pasted one is the same incident. */
#define SAME_NS (2 * NSEC_PER_SEC)

static void explain_incident_copy_text(char *to, size_t size, const char *from, size_t from_size)
{
	snprintf(to, size, "%.*s", (int)MIN(from_size, size - 1), from);
}

static bool explain_incident_field_number(const struct fields *fields, const char *name,
					  uint64_t *ret_number)
{
	const struct field *field = fields_find(fields, name);
	char digits[24], *end;

	if (!field || field->size >= sizeof(digits))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)field->size, field->value);
	*ret_number = strtoull(digits, &end, 10);
	return end != digits;
}

/* Takes what a single line says, unless an earlier line has said it. */
static void explain_incident_take_fields(struct evidence_incident *incident,
					 const struct incident *from)
{
	uint64_t number;

	if (!incident->has_queue && explain_incident_field_number(&from->fields, "qid", &number)) {
		incident->has_queue = true;
		incident->queue = number;
	}
	if (incident->napi_scheduled < 0 &&
	    explain_incident_field_number(&from->fields, "sched", &number))
		incident->napi_scheduled = number != 0;
	if (!incident->cpu_source && strcmp(from->kind->name, "net.tx_watchdog") != 0 &&
	    explain_incident_field_number(&from->fields, "cpu", &number)) {
		incident->cpu_source = EVIDENCE_CPU_LINE;
		incident->cpu = number;
	}
	if (!incident->cpu_source &&
	    explain_incident_field_number(&from->fields, "queue_cpu", &number)) {
		incident->cpu_source = EVIDENCE_CPU_INTERRUPTS;
		incident->cpu = number;
	}
	if (!*incident->line)
		explain_incident_copy_text(incident->line, sizeof(incident->line), from->line,
					   from->line_size);
}

/* Takes the lines of an episode: those of its own kind first. */
static int explain_incident_take_lines(const struct book *book, size_t number,
				       struct evidence_incident *incident)
{
	const char *kind = book->episodes.list.items[number].kind->name;
	_cleanup_(buffer_done) struct buffer names = { 0 };
	int r = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; r == 0 && i < book->rows.count; i++) {
			const struct book_row *row = &book->rows.items[i];
			struct incident line;
			char device[64];
			bool own = strcmp(book->kinds.items[row->kind].name, kind) == 0;

			if (row->episode != number || own != (pass == 0))
				continue;
			r = book_incident(book, row, &names, device, &line);
			if (r == 0)
				explain_incident_take_fields(incident, &line);
		}
	return r;
}

static int explain_incident_take_episode(const struct book *book, const struct episode *episode,
					 struct evidence *evidence)
{
	struct evidence_incident *incident = &evidence->incident;
	uint64_t first_ns = episode->first.realtime_ns;

	*incident = (struct evidence_incident){
		.id = episode->id,
		.napi_scheduled = -1,
		.first_ns = first_ns,
		.last_ns = episode->last.realtime_ns,
		.has_start = episode->has_start && episode->start_ns < first_ns,
		.lines = episode->incidents,
		.resets = episode->resets,
	};
	explain_incident_copy_text(incident->kind, sizeof(incident->kind), episode->kind->name,
				   SIZE_MAX);
	explain_incident_copy_text(incident->device, sizeof(incident->device), episode->device,
				   SIZE_MAX);
	explain_incident_copy_text(incident->ifname, sizeof(incident->ifname), episode->ifname,
				   SIZE_MAX);
	explain_incident_copy_text(incident->comm, sizeof(incident->comm), episode->comm, SIZE_MAX);
	evidence->stall_from_ns =
		incident->has_start ? episode->start_ns : first_ns - MIN(first_ns, BEFORE_NS);
	evidence->stall_to_ns = first_ns;
	return explain_incident_take_lines(book, episode - book->episodes.list.items, incident);
}

/* Returns the worst episode that touches the window; of equally bad ones, the last. */
static const struct episode *explain_incident_worst_in(const struct book *book,
						       const struct window *window)
{
	const struct episode *worst = NULL;

	for (size_t i = 0; i < book->episodes.list.count; i++) {
		const struct episode *episode = &book->episodes.list.items[i];
		uint64_t from_ns =
			episode->has_start ? episode->start_ns : episode->first.realtime_ns;

		if (episode->kind->severity < SEVERITY_ERR || from_ns >= window->to_ns ||
		    episode->first.realtime_ns < window->from_ns)
			continue;
		if (!worst || episode->kind->severity >= worst->kind->severity)
			worst = episode;
	}
	return worst;
}

/* Returns the episode at the time of a pasted line, or NULL. */
static const struct episode *explain_incident_episode_at(const struct book *book, uint64_t at_ns)
{
	for (size_t i = 0; i < book->episodes.list.count; i++) {
		const struct episode *episode = &book->episodes.list.items[i];

		if (episode->kind->severity > SEVERITY_INFO &&
		    episode->first.realtime_ns <= at_ns + SAME_NS &&
		    episode->last.realtime_ns + SAME_NS >= at_ns)
			return episode;
	}
	return NULL;
}

struct pasted_line {
	struct evidence *evidence;
	const struct window *window;
};

static void explain_incident_take_pasted(void *context, const struct incident *given)
{
	const struct pasted_line *pasted = context;
	struct evidence_incident *incident = &pasted->evidence->incident;
	const struct field *ifname = fields_find(&given->fields, "ifname");
	uint64_t at_ns = pasted->window->at_ns;

	if (*incident->kind)
		return;
	*incident = (struct evidence_incident){ .napi_scheduled = -1,
						.first_ns = at_ns,
						.last_ns = at_ns,
						.has_start = given->has_stall,
						.lines = 1 };
	explain_incident_copy_text(incident->kind, sizeof(incident->kind), given->kind->name,
				   SIZE_MAX);
	explain_incident_copy_text(incident->device, sizeof(incident->device), given->device,
				   SIZE_MAX);
	if (ifname)
		explain_incident_copy_text(incident->ifname, sizeof(incident->ifname),
					   ifname->value, ifname->size);
	explain_incident_take_fields(incident, given);
	pasted->evidence->stall_from_ns =
		at_ns - MIN(at_ns, given->has_stall ? given->stall_ns : BEFORE_NS);
	pasted->evidence->stall_to_ns = at_ns;
}

/* Reads a pasted line that the store does not have. */
static int explain_incident_read_pasted(const char *line, const struct window *window,
					struct evidence *evidence, struct error *error)
{
	struct pasted_line pasted = { evidence, window };
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	_cleanup_(cleanup_scanner) struct scanner *scanner = NULL;
	struct scanner_options options = {
		.clock = { .end_ns = clock_ns(CLOCK_REALTIME) },
		.trust_users = true,
		.give = explain_incident_take_pasted,
		.context = &pasted,
	};
	struct scan_summary summary;
	int r = catalogue_new(INCIDENTS_FOLDER, &catalogue, error);

	options.catalogue = catalogue;
	if (r < 0)
		return r;
	r = scanner_new(&options, &scanner);
	if (r < 0)
		return r;
	r = scanner_feed(scanner, line, strlen(line));
	return r == 0 ? scanner_finish(scanner, &summary) : r;
}

static int explain_incident_find_in_book(const struct invocation *invocation,
					 const struct book *book, const struct window *window,
					 struct evidence *evidence, struct error *error)
{
	const char *asked = option_value(invocation, "incident");
	const char *line = option_value(invocation, "line");
	const struct episode *episode = NULL;
	_cleanup_free_ char *message = NULL;
	int r = asked ? incident_choose(book, asked, &episode, error) : 0;

	if (r < 0)
		return r;
	if (line)
		episode = explain_incident_episode_at(book, window->at_ns);
	else if (!asked)
		episode = explain_incident_worst_in(book, window);
	if (episode)
		return explain_incident_take_episode(book, episode, evidence);
	if (!line)
		return 0;
	r = line_cut_time(line, option_given(invocation, "utc"), &message);
	return r < 0 ? r : explain_incident_read_pasted(message, window, evidence, error);
}

int explain_incident_find(const struct invocation *invocation, struct store_reader *reader,
			  const struct window *window, struct evidence *evidence,
			  struct error *error)
{
	_cleanup_(book_done) struct book book = { 0 };
	int r;

	evidence->window = *window;
	/* an incident of the store needs no note, because the answer itself describes it */
	if (!option_given(invocation, "line"))
		*evidence->window.note = 0;
	evidence->stall_from_ns = window->from_ns;
	evidence->stall_to_ns = window->to_ns;
	evidence->incident.napi_scheduled = -1;
	r = book_open(reader, &book, error);
	if (r < 0)
		return r;
	return explain_incident_find_in_book(invocation, &book, window, evidence, error);
}
