// SPDX-License-Identifier: GPL-2.0-only
#include "cli/window/incident-window.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/window/incident-choice.h"
#include "cli/window/queue-map.h"
#include "incidents/logs/classify.h"
#include "query/window/when.h"

/* Characters between a time and a message. */
#define SEPARATORS " \t,:;|-"

static int incident_window_parse_length(const struct invocation *invocation, const char *name,
					uint64_t usual_ns, uint64_t *ret_ns)
{
	const char *text = option_value(invocation, name);
	int r = text ? duration_parse(text, ret_ns) : 0;

	if (!text)
		*ret_ns = usual_ns;
	if (r == 0)
		return EXIT_DONE;
	if (r == -EDOM)
		return usage_error("--%s '%s': length needs a unit, as %ss", name, text, text);
	return usage_error("--%s '%s' is not a length; write 250ms, 5s, 2m, 12h or 7d", name, text);
}

/* Adds --before and --after to a range. */
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

/* Writes ", queue 5 on CPU 39", or only the parts that are known. */
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

void incident_describe(const struct episode *episode, char *text, size_t size)
{
	char stall[32], length[32], queue[64];
	bool stalled = episode->stall_ns > 0;
	uint64_t length_ns = episode->last.realtime_ns - episode->first.realtime_ns;

	describe_queue(episode, queue);
	snprintf(text, size, "incident %llu, %s%s%s%s%s%s%s%s", (unsigned long long)episode->id,
		 episode->kind->name, *episode->device || *episode->comm ? " of " : "",
		 *episode->device ? episode->device : episode->comm, queue,
		 stalled ? ", stalled for " : "",
		 stalled ? duration_format(episode->stall_ns, stall, sizeof(stall)) : "",
		 length_ns >= NSEC_PER_SEC ? ", went on for " : "",
		 length_ns >= NSEC_PER_SEC ? duration_format(length_ns, length, sizeof(length))
					   : "");
}

/* Prints which segments cannot be read. Returns true if any segment cannot be read. */
static bool warn_unread(struct store_reader *reader)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	if (book_describe_unread(reader, &text, NULL) < 0 || !text.size || buffer_failed(&text))
		return false;
	warn("%.*s", (int)text.size, (char *)text.data);
	return true;
}

/*
 * Explains why the search did not find an incident: a segment that cannot be read may contain it.
 */
static int incident_window_none(struct store_reader *reader, const struct book *book,
				const struct error *error)
{
	bool known = book->rows.count || !reader;

	if (known)
		fail(-ENOENT, error);
	if (reader && warn_unread(reader))
		return known ? EXIT_NOTHING : EXIT_FAILED;
	if (!known)
		fail(-ENOENT, error);
	return EXIT_NOTHING;
}

static int incident_find(const struct invocation *invocation, struct store_reader **reader,
			 struct book *book, const struct episode **ret_episode, struct error *error)
{
	int r = store_reader_open(store_path(invocation), reader, error);

	if (r < 0)
		return r;
	r = book_open(*reader, book, error);
	if (r < 0)
		return r;
	return incident_choose(book, option_value(invocation, "incident"), ret_episode, error);
}

int incident_window(const struct invocation *invocation, struct window *ret_window)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct window window = { 0 };
	const struct episode *episode;
	_cleanup_(book_done) struct book book = { 0 };
	struct error error = { 0 };
	int code, r = incident_find(invocation, &reader, &book, &episode, &error);

	if (r == -EINVAL)
		code = usage_error("--incident: %s", error.text);
	else if (r == -ENOENT)
		code = incident_window_none(reader, &book, &error);
	else if (r < 0)
		code = fail(r, &error);
	else
		code = incident_window_around(
			invocation, MIN(episode->start_ns, episode->first.realtime_ns),
			episode->first.realtime_ns, episode->last.realtime_ns, &window);
	if (code == EXIT_DONE) {
		/*
		 * a file has few segments, and its last incident may be in a part that cannot be
		 * read
		 */
		if (store_reader_is_file(reader))
			warn_unread(reader);
		incident_describe(episode, window.note, sizeof(window.note));
		*ret_window = window;
	}
	return code;
}

struct pasted {
	struct log_map map;
	bool found;
	struct log_place place;
	bool has_stall;
	bool forged;
	/* The recorder recorded that time, but no incident that is equal to the kernel's line. */
	bool unheard;
	uint64_t stall_ns;
	char kind[64];
	char queue[64];
	int failed;
	/* A time that when_find() found in the line. */
	struct moment said;
	/* The time that the line itself states, before log_map_place() changed it. */
	struct moment stated;
	/* The reason why the line's time is unclear; "": it is clear. */
	struct error unclear;
};

/* Notes the queue that a single line names. */
static int note_queue(struct pasted *pasted, const struct incident *given)
{
	struct incident incident = *given;
	_cleanup_(episodes_done) struct episodes alone = { 0 };
	char queue_cpu[QUEUE_CPU_SIZE];
	int r;

	queue_map_add(&pasted->map, &pasted->place, &incident.fields, queue_cpu);
	r = episodes_add(&alone, &incident, NULL);
	if (r < 0)
		return r;
	describe_queue(&alone.list.items[0], pasted->queue);
	return 0;
}

/* Refuses a stamp with an unclear zone, unless the kernel's own stamp shows the time. */
static void check_zone(struct pasted *pasted, const struct moment *moment)
{
	if (*moment->unclear && !moment->has_uptime)
		error_set(&pasted->unclear, -EINVAL,
			  "%s names several time zones; write UTC, or an offset such as +01:00",
			  moment->unclear);
}

static void take_first(void *context, const struct incident *given)
{
	struct pasted *pasted = context;
	struct incident incident = *given;

	if (pasted->found)
		return;
	check_zone(pasted, &incident.moment);
	if (!incident.moment.has_time && !incident.moment.has_uptime)
		incident.moment = pasted->said;
	pasted->found = true;
	pasted->stated = incident.moment;
	pasted->failed = log_map_place(&pasted->map, &incident, &pasted->place);
	if (pasted->failed == 0)
		pasted->failed = note_queue(pasted, &incident);
	pasted->has_stall = incident.has_stall;
	pasted->forged = incident.forged || pasted->place.forged;
	pasted->unheard = !pasted->forged && pasted->place.how != LOG_PLACE_LINE &&
			  pasted->place.covered != COVERED_NOT && incident.kind->writer &&
			  !strcmp(incident.kind->writer, "kernel");
	pasted->stall_ns = incident.stall_ns;
	snprintf(pasted->kind, sizeof(pasted->kind), "%s", incident.kind->name);
}

/* Finds the first incident in a text. */
static int find_incident(const struct scanner_options *options, const char *text)
{
	_cleanup_(cleanup_scanner) struct scanner *scanner = NULL;
	struct scan_summary summary;
	int r = scanner_new(options, &scanner);

	if (r < 0)
		return r;
	if (*text)
		r = scanner_feed(scanner, text, strlen(text));
	return r == 0 ? scanner_finish(scanner, &summary) : r;
}

/* a line without an incident may still have a stamp */
static void take_stamp_alone(struct pasted *pasted, const struct scanner_options *options,
			     const char *line)
{
	static const struct kind none = { .name = (char *)"" };
	_cleanup_(log_prefix_done) struct log_prefix prefix = { 0 };
	struct incident incident = { .kind = &none, .device = "", .boot_id = "", .line = line };
	struct log_clock clock;

	log_prefix_init(&prefix);
	log_prefix_read(&prefix, line, strlen(line));
	if (buffer_failed(&prefix.scratch))
		pasted->failed = -ENOMEM;
	log_clock_init(&clock, &options->clock);
	log_clock_take(&clock, &prefix, &incident.moment);
	incident.boot_id = prefix.boot_id;
	check_zone(pasted, &incident.moment);
	if (incident.moment.has_time || incident.moment.has_uptime || pasted->said.has_time ||
	    pasted->said.has_uptime)
		take_first(pasted, &incident);
}

/*
 * Sets *ret_rest to the line without its time and without the separators between the time and the
 * message.
 */
static int cut_time(const char *line, const struct when *when, char **ret_rest)
{
	size_t before = when->begin, after = when->begin + when->size;

	while (before && strchr(SEPARATORS, line[before - 1]))
		before--;
	after += strspn(line + after, SEPARATORS);
	if (asprintf(ret_rest, "%.*s%s%s", (int)before, line, before && line[after] ? " " : "",
		     line + after) >= 0)
		return 0;
	*ret_rest = NULL;
	return -ENOMEM;
}

/*
 * Reads a line without a stamp at its start. People write the time anywhere: "ENA reset 12:24:49",
 * "12:24:49 UTC TX q 5 is paused for too long".
 */
static int take_time_anywhere(struct pasted *pasted, const struct scanner_options *options,
			      const char *line)
{
	_cleanup_free_ char *rest = NULL;
	struct when when;
	int r = when_find(line, options->clock.end_ns, options->clock.utc, &when, &pasted->unclear);

	if (r != 1)
		return 0;
	pasted->said = when.is_uptime ? (struct moment){ .has_uptime = true,
							 .uptime_ns = when.uptime_ns,
							 .error_ns = when.unit_ns }
				      : (struct moment){ .has_time = true,
							 .realtime_ns = when.realtime_ns,
							 .error_ns = when.unit_ns + NSEC_PER_SEC };
	r = cut_time(line, &when, &rest);
	return r < 0 ? r : find_incident(options, rest);
}

/* Returns 1 if a logger or the kernel put a stamp into the line, 0 if not, or -ENOMEM. */
static int has_stamp(const char *line)
{
	_cleanup_(log_prefix_done) struct log_prefix prefix = { 0 };

	log_prefix_init(&prefix);
	log_prefix_read(&prefix, line, strlen(line));
	if (buffer_failed(&prefix.scratch))
		return -ENOMEM;
	return prefix.wall.quality || prefix.uptime_quality || prefix.shipper.quality;
}

int line_cut_time(const char *text, bool utc, char **ret_message)
{
	_cleanup_free_ char *line = strndup(text, strcspn(text, "\n"));
	struct error unclear = { 0 };
	struct when when;
	int r = line ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	r = *text == '{' ? 1 : has_stamp(line);
	if (r < 0)
		return r;
	if (r == 0 && when_find(line, clock_ns(CLOCK_REALTIME), utc, &when, &unclear) == 1)
		return cut_time(line, &when, ret_message);
	*ret_message = strdup(text);
	return *ret_message ? 0 : -ENOMEM;
}

static int incident_window_read_text(struct pasted *pasted, const struct invocation *invocation,
				     const char *text, struct error *error)
{
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	_cleanup_free_ char *line = strndup(text, strcspn(text, "\n"));
	struct scanner_options options = {
		.clock = { .end_ns = clock_ns(CLOCK_REALTIME),
			   .utc = option_given(invocation, "utc") },
		/* a user who pastes a line trusts this line */
		.trust_users = true,
		.give = take_first,
		.context = pasted,
	};
	int r = line ? catalogue_new(INCIDENTS_FOLDER, &catalogue, error) : -ENOMEM;

	if (r < 0)
		return r;
	options.catalogue = catalogue;
	r = *text == '{' ? 1 : has_stamp(line);
	if (r == 0)
		r = take_time_anywhere(pasted, &options, line);
	if (r < 0)
		return r;
	if (!pasted->found)
		r = find_incident(&options, text);
	if (r < 0)
		return r;
	if (!pasted->found)
		take_stamp_alone(pasted, &options, line);
	return pasted->failed;
}

/* Writes which recorded line equals the pasted line, such as "matched incident 17, ". */
static void matched_text(const struct log_place *place, char *text, size_t size)
{
	char which[48] = "a recorded line", alike[48] = "";

	if (place->how != LOG_PLACE_LINE)
		return;
	if (place->id)
		snprintf(which, sizeof(which), "incident %llu", (unsigned long long)place->id);
	if (place->alike > 1)
		snprintf(alike, sizeof(alike), " (the last of %zu equal lines)", place->alike);
	snprintf(text, size, "matched %s%s, ", which, alike);
}

/*
 * Writes by how much the time in the line differs from the time that counts, such as "; the line
 * says 12:24:47, 2.4 s earlier". Both clocks may be right: a log shipper stamps a line late.
 */
static void differs_text(const struct invocation *invocation, const struct pasted *pasted,
			 char *text, size_t size)
{
	uint64_t time_ns = pasted->place.moment.realtime_ns, said_ns = pasted->stated.realtime_ns;
	uint64_t apart_ns = time_ns > said_ns ? time_ns - said_ns : said_ns - time_ns;
	char time[TIME_TEXT_SIZE], apart[32];

	if (!pasted->stated.has_time || pasted->place.how == LOG_PLACE_LOG ||
	    apart_ns <= MAX(pasted->stated.error_ns, NSEC_PER_SEC))
		return;
	time_format(said_ns, option_given(invocation, "utc"), 0, time);
	apart_ns -= apart_ns % (100 * NSEC_PER_MSEC);
	snprintf(text, size, "; the line says %.8s, %s %s", time + 11,
		 duration_format(apart_ns, apart, sizeof(apart)),
		 said_ns < time_ns ? "earlier" : "later");
}

static int window_of(const struct invocation *invocation, const struct pasted *pasted,
		     struct window *ret_window)
{
	const struct moment *moment = &pasted->place.moment;
	uint64_t stall_ns = pasted->has_stall ? MIN(pasted->stall_ns, moment->realtime_ns) : 0;
	struct window window = { 0 };
	char error[32], matched[96] = "", differs[96] = "";
	int r = incident_window_around(invocation, moment->realtime_ns - stall_ns,
				       moment->realtime_ns, moment->realtime_ns, &window);

	if (r != EXIT_DONE)
		return r;
	matched_text(&pasted->place, matched, sizeof(matched));
	differs_text(invocation, pasted, differs, sizeof(differs));
	snprintf(window.note, sizeof(window.note), "%s%s%s%s%stime from %s, within %s%s%s",
		 pasted->forged ? "a user wrote this line, not the kernel: " : "", pasted->kind,
		 pasted->queue, *pasted->kind ? "; " : "", matched,
		 pasted->place.how == LOG_PLACE_LINE	  ? "the recorder"
		 : pasted->place.how == LOG_PLACE_ANCHORS ? "the kernel's stamp"
							  : "the line",
		 duration_format(MAX(moment->error_ns, NSEC_PER_USEC), error, sizeof(error)),
		 differs, pasted->unheard ? "; the recorder found no such incident then" : "");
	*ret_window = window;
	return EXIT_DONE;
}

/* Reports a boot that the store does not contain. Returns the exit code for an unknown incident. */
static int unknown_boot(const char *boot)
{
	warn("--boot %s: unknown boot; perftape segments --json lists the ids", boot);
	return EXIT_NOTHING;
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
		code = unknown_boot(pasted.map.boot);
	else if (*pasted.unclear.text)
		code = usage_error("--line: %s", pasted.unclear.text);
	else if (!pasted.found)
		code = usage_error("--line: the text contains neither an incident nor a time");
	else if (!pasted.place.moment.has_time)
		code = usage_error(
			pasted.place.moment.has_uptime
				? "--line: %s has an uptime that no boot in the store reached"
				: "--line: %s has no time, and the store has no such line",
			*pasted.kind ? pasted.kind : "that line");
	else
		code = window_of(invocation, &pasted, ret_window);
	log_map_done(&pasted.map);
	return code;
}
