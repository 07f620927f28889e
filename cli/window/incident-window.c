// SPDX-License-Identifier: GPL-2.0-only
#include "cli/window/incident-window.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/window/incident-choice.h"
#include "cli/window/queue-map.h"
#include "incidents/logs/classify.h"

static int incident_window_parse_length(const struct invocation *invocation, const char *name,
					uint64_t usual_ns, uint64_t *ret_ns)
{
	const char *text = option_value(invocation, name);

	*ret_ns = usual_ns;
	if (!text || duration_parse(text, ret_ns) == 0)
		return EXIT_DONE;
	return usage_error("--%s '%s' is no length; write 250ms, 5s, 2m, 12h or 7d", name, text);
}

/* So much before and after it as was asked for. */
static int incident_window_around(const struct invocation *invocation, uint64_t from_ns,
				  uint64_t at_ns, uint64_t to_ns, struct window *ret_window)
{
	uint64_t before_ns, after_ns;
	int r = incident_window_parse_length(invocation, "before", WINDOW_BEFORE_NS, &before_ns);

	if (r == EXIT_DONE)
		r = incident_window_parse_length(invocation, "after", WINDOW_AFTER_NS, &after_ns);
	if (r != EXIT_DONE)
		return r;
	if (before_ns + after_ns == 0 && from_ns >= to_ns)
		return usage_error("--before 0 and --after 0 leave nothing of the window");
	ret_window->from_ns = from_ns - MIN(from_ns, before_ns);
	ret_window->to_ns = to_ns + after_ns;
	ret_window->at_ns = at_ns;
	return EXIT_DONE;
}

/* ", queue 5 on CPU 39", as far as it is known. */
static void describe_queue(const struct episode *episode, char text[64])
{
	size_t size = 0;

	if (episode->has_queue)
		size = snprintf(text, 64, ", queue %llu", (unsigned long long)episode->queue);
	if (episode->has_cpu)
		size += snprintf(text + size, 64 - size, "%sCPU %llu", size ? " on " : ", ",
				 (unsigned long long)episode->cpu);
	text[size] = 0;
}

static void incident_window_describe(const struct episode *episode, struct window *window)
{
	char stall[32], length[32], queue[64];
	bool stalled = episode->stall_ns > 0;
	uint64_t length_ns = episode->last.realtime_ns - episode->first.realtime_ns;

	describe_queue(episode, queue);
	snprintf(window->note, sizeof(window->note), "incident %llu, %s%s%s%s%s%s%s%s",
		 (unsigned long long)episode->id, episode->kind->name,
		 *episode->device || *episode->comm ? " of " : "",
		 *episode->device ? episode->device : episode->comm, queue,
		 stalled ? ", stalled for " : "",
		 stalled ? duration_format(episode->stall_ns, stall, sizeof(stall)) : "",
		 length_ns >= NSEC_PER_SEC ? ", went on for " : "",
		 length_ns >= NSEC_PER_SEC ? duration_format(length_ns, length, sizeof(length))
					   : "");
}

int incident_window(const struct invocation *invocation, struct window *ret_window)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct window window = { 0 };
	const struct episode *episode;
	struct book book = { 0 };
	struct error error = { 0 };
	int code, r = store_reader_open(store_path(invocation), &reader, &error);

	if (r == 0)
		r = book_open(reader, &book, &error);
	if (r == 0)
		r = incident_choose(&book, option_value(invocation, "incident"), &episode, &error);
	if (r == -EINVAL)
		code = usage_error("--incident: %s", error.text);
	else if (r < 0)
		code = fail(r, &error);
	else
		code = incident_window_around(
			invocation, MIN(episode->start_ns, episode->first.realtime_ns),
			episode->first.realtime_ns, episode->last.realtime_ns, &window);
	if (code == EXIT_DONE) {
		incident_window_describe(episode, &window);
		*ret_window = window;
	} else if (r == -ENOENT) {
		code = EXIT_NOTHING;
	}
	book_done(&book);
	return code;
}

struct pasted {
	struct log_map map;
	bool found;
	struct log_place place;
	bool has_stall;
	bool forged;
	uint64_t stall_ns;
	char kind[64];
	char queue[64];
	int failed;
};

/* The same of a line alone. */
static void note_queue(struct pasted *pasted, const struct incident *given)
{
	struct incident incident = *given;
	struct episodes alone = { 0 };
	char queue_cpu[QUEUE_CPU_SIZE];

	queue_map_add(&pasted->map, &pasted->place, &incident.fields, queue_cpu);
	if (episodes_add(&alone, &incident, NULL) == 0)
		describe_queue(&alone.list.items[0], pasted->queue);
	episodes_done(&alone);
}

static void take_first(void *context, const struct incident *incident)
{
	struct pasted *pasted = context;

	if (pasted->found)
		return;
	pasted->found = true;
	pasted->failed = log_map_place(&pasted->map, incident, &pasted->place);
	note_queue(pasted, incident);
	pasted->has_stall = incident->has_stall;
	pasted->forged = incident->forged || pasted->place.forged;
	pasted->stall_ns = incident->stall_ns;
	snprintf(pasted->kind, sizeof(pasted->kind), "%s", incident->kind->name);
}

/* A line that is no incident has a time perhaps. */
static void incident_window_take_time(struct pasted *pasted, const struct scanner_options *options,
				      const char *text)
{
	static const struct kind none = { .name = (char *)"" };
	_cleanup_(log_prefix_done) struct log_prefix prefix;
	struct incident incident = { .kind = &none, .device = "", .boot_id = "", .line = text };
	struct log_clock clock;

	log_prefix_init(&prefix);
	log_prefix_read(&prefix, text, strcspn(text, "\n"));
	log_clock_init(&clock, &options->clock);
	log_clock_take(&clock, &prefix, &incident.moment);
	incident.boot_id = prefix.boot_id;
	if (incident.moment.has_time || incident.moment.has_uptime)
		take_first(pasted, &incident);
}

static int incident_window_read_text(struct pasted *pasted, const struct invocation *invocation,
				     const char *text, struct error *error)
{
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	_cleanup_(cleanup_scanner) struct scanner *scanner = NULL;
	struct scanner_options options = {
		.clock = { .end_ns = clock_ns(CLOCK_REALTIME),
			   .utc = option_given(invocation, "utc") },
		.trust_users = true, /* who pastes a line means it */
		.give = take_first,
		.context = pasted,
	};
	struct scan_summary summary;
	int r = catalogue_new(INCIDENTS_FOLDER, &catalogue, error);

	options.catalogue = catalogue;
	if (r == 0)
		r = scanner_new(&options, &scanner);
	if (r == 0)
		r = scanner_feed(scanner, text, strlen(text));
	if (r == 0)
		r = scanner_finish(scanner, &summary);
	if (r == 0 && !pasted->found)
		incident_window_take_time(pasted, &options, text);
	return r < 0 ? r : pasted->failed;
}

static int window_of(const struct invocation *invocation, const struct pasted *pasted,
		     struct window *ret_window)
{
	const struct moment *moment = &pasted->place.moment;
	uint64_t stall_ns = pasted->has_stall ? MIN(pasted->stall_ns, moment->realtime_ns) : 0;
	struct window window = { 0 };
	char error[32], alike[64] = "";
	int r = incident_window_around(invocation, moment->realtime_ns - stall_ns,
				       moment->realtime_ns, moment->realtime_ns, &window);

	if (r != EXIT_DONE)
		return r;
	if (pasted->place.alike > 1)
		snprintf(alike, sizeof(alike), " (of %zu that say the same, the last)",
			 pasted->place.alike);
	snprintf(window.note, sizeof(window.note), "%s%s%s%sthe time of that line %s%s, to %s",
		 pasted->forged ? "a user wrote that, not the kernel: " : "", pasted->kind,
		 pasted->queue, *pasted->kind ? "; " : "",
		 pasted->place.how == LOG_PLACE_LINE	  ? "is that of the recorded one"
		 : pasted->place.how == LOG_PLACE_ANCHORS ? "is known by the kernel's stamp"
							  : "is as the line says",
		 alike,
		 duration_format(MAX(moment->error_ns, NSEC_PER_USEC), error, sizeof(error)));
	*ret_window = window;
	return EXIT_DONE;
}

int line_window(const struct invocation *invocation, struct window *ret_window)
{
	struct pasted pasted = { 0 };
	struct error error = { 0 };
	int code, r = log_map_open(store_path(invocation), &pasted.map, &error);

	pasted.map.boot = option_value(invocation, "boot");
	pasted.map.guesses = true;
	if (r == 0 && log_map_has_boot(&pasted.map))
		r = incident_window_read_text(&pasted, invocation, option_value(invocation, "line"),
					      &error);
	if (r < 0)
		code = fail(r, &error);
	else if (!log_map_has_boot(&pasted.map))
		code = usage_error(
			"--boot %s: the store has no such boot; perftape segments --json has their ids",
			pasted.map.boot);
	else if (!pasted.found)
		code = usage_error("--line: there is neither an incident nor a time in that text");
	else if (!pasted.place.moment.has_time)
		code = usage_error(
			pasted.place.moment.has_uptime
				? "--line: %s says an uptime that no boot in the store has reached"
				: "--line: %s says no time, and the store has no such line",
			*pasted.kind ? pasted.kind : "that line");
	else
		code = window_of(invocation, &pasted, ret_window);
	log_map_done(&pasted.map);
	return code;
}
