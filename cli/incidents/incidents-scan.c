// SPDX-License-Identifier: GPL-2.0-only
#include "cli/incidents/incidents-scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/incidents/log-add.h"
#include "cli/answer/episode-table.h"
#include "cli/incidents/kind-choice.h"
#include "cli/incidents/log-input.h"
#include "cli/answer/progress-line.h"
#include "cli/options/print.h"
#include "cli/window/queue-map.h"
#include "query/window/when.h"

#define PIECE_BYTES (1 << 20)
#define EDGE_BYTES (64 << 10) /* The first and last bytes of a log tell the year */
#define SOURCE_MAX 4200

struct scan {
	const struct invocation *invocation;
	struct log_input log;
	bool json, all;
	struct log_map map;
	/* JSON lines. */
	struct buffer out;
	struct episodes episodes;
	/* For each episode, how much of its time was recorded. */
	array_of(enum covered) covered;
	/* The table for --all. */
	struct episode_table table;
	struct log_add log_add;
	/* Number of incidents up to now. */
	uint64_t count;
	/* Number of lines that a user wrote, according to the store. */
	uint64_t forged;
	uint64_t shown;
	/* Number of incidents that a user may have chosen, as the log has no fine stamps. */
	uint64_t doubtful;
	/* Number of incidents whose stamp has an unclear zone, and the first such zone. */
	uint64_t unclear;
	char unclear_zone[ZONE_NAME_MAX + 1];
	int failed;
};

static void scan_done(struct scan *scan)
{
	buffer_done(&scan->out);
	episodes_done(&scan->episodes);
	array_done(&scan->covered);
	columns_done(&scan->table.columns);
	log_add_done(&scan->log_add);
	log_map_done(&scan->map);
	log_input_done(&scan->log);
}

static const char *source_text(const struct scan *scan, const struct incident *incident,
			       char source[SOURCE_MAX])
{
	snprintf(source, SOURCE_MAX, "%.4000s:%llu", scan->log.name,
		 (unsigned long long)incident->line_number);
	return source;
}

static int incidents_scan_print_json(struct scan *scan, const struct incident *incident,
				     enum covered covered)
{
	char source[SOURCE_MAX];

	scan->out.size = 0;
	incident_json(incident, source_text(scan, incident, source), covered, &scan->out);
	if (buffer_failed(&scan->out))
		return -ENOMEM;
	print_text(stdout, &scan->out, false);
	return 0;
}

/* Adds a line to its episode. An episode counts as covered if all its lines are covered. */
static int add_to_episode(struct scan *scan, const struct incident *incident, enum covered covered)
{
	size_t at;
	int r = episodes_add(&scan->episodes, incident, &at);

	if (r < 0)
		return r;
	if (at >= scan->covered.count)
		return array_push(&scan->covered, covered);
	if (scan->covered.items[at] != covered)
		scan->covered.items[at] = COVERED_PARTLY;
	return 0;
}

static bool incidents_scan_is_asked(const struct scan *scan, const struct incident *incident)
{
	const char *kind = option_value(scan->invocation, "kind");

	return !kind || book_kind_is(incident->kind->name, kind, strlen(kind));
}

static int show_incident(struct scan *scan, const struct incident *incident, enum covered covered)
{
	scan->shown++;
	if (scan->json)
		return incidents_scan_print_json(scan, incident, covered);
	if (scan->all)
		episode_table_incident(&scan->table, incident, covered);
	else
		return add_to_episode(scan, incident, covered);
	return 0;
}

static int put_incident(struct scan *scan, const struct incident *incident,
			const struct log_place *place)
{
	char source[SOURCE_MAX];
	int r = scan->map.failed;

	if (r < 0)
		return r;
	if (option_given(scan->invocation, "add"))
		r = log_add_put(&scan->log_add, incident, place,
				source_text(scan, incident, source));
	return r < 0 ? r : show_incident(scan, incident, place->covered);
}

static void take_incident(void *context, const struct incident *given)
{
	struct scan *scan = context;
	struct incident incident = *given;
	char queue_cpu[QUEUE_CPU_SIZE];
	struct log_place place;
	int r;

	incident.id = ++scan->count;
	if (!incidents_scan_is_asked(scan, &incident) || scan->failed)
		return;
	r = log_map_place(&scan->map, &incident, &place);
	if (place.forged && !option_given(scan->invocation, "trust-user-kmsg")) {
		scan->forged++;
		return;
	}
	incident.moment = place.moment;
	incident.boot_id = place.boot_id;
	/* the recorder reads each message as a whole, so a recorded line is the kernel's */
	if (place.how == LOG_PLACE_LINE || option_given(scan->invocation, "trust-user-kmsg"))
		incident.doubtful = false;
	scan->doubtful += incident.doubtful;
	if (*given->moment.unclear && !scan->unclear++)
		memcpy(scan->unclear_zone, given->moment.unclear, sizeof(scan->unclear_zone));
	queue_map_add(&scan->map, &place, &incident.fields, queue_cpu);
	scan->failed = r < 0 ? r : put_incident(scan, &incident, &place);
}

static int read_span(const struct scan *scan, struct scanner *scanner, char *piece)
{
	const struct log_input *log = &scan->log;
	char *tail = piece + EDGE_BYTES;
	ssize_t head_size = log_input_read_at(log, piece, EDGE_BYTES, 0);
	ssize_t tail_size = log_input_read_at(log, tail, EDGE_BYTES,
					      log->size > EDGE_BYTES ? log->size - EDGE_BYTES : 0);

	if (head_size < 0 || tail_size < 0)
		return head_size < 0 ? head_size : tail_size;
	scanner_span(scanner, piece, head_size, tail, tail_size);
	return 0;
}

static int read_kept(const struct scan *scan, struct scanner *scanner, char *piece,
		     uint64_t *ret_offset)
{
	struct progress_line progress;
	ssize_t got = 1;
	int r = 0;

	progress_line_start(&progress, "scanning", option_given(scan->invocation, "quiet"));
	while (r == 0 && got > 0) {
		got = log_input_read_at(&scan->log, piece, PIECE_BYTES, *ret_offset);
		r = got > 0 ? scanner_feed(scanner, piece, got) : got;
		*ret_offset += MAX(got, 0);
		progress_line_show(&progress, MIN(*ret_offset, scan->log.size), scan->log.size);
	}
	progress_line_end(&progress);
	return r;
}

/* Reads lines from the pipe. Reports a line when it arrives, without waiting for the next one. */
static int incidents_scan_read_pipe(const struct scan *scan, struct scanner *scanner, char *piece,
				    uint64_t *ret_offset)
{
	ssize_t got = 1;
	bool idle = false;
	int r = 0;

	while (r == 0 && (got > 0 || idle)) {
		fflush(stdout);
		got = log_input_read_pipe(&scan->log, piece, PIECE_BYTES, &idle);
		if (idle)
			r = scanner_flush(scanner);
		else
			r = got > 0 ? scanner_feed(scanner, piece, got) : got;
		*ret_offset += MAX(got, 0);
		r = r == 0 ? scan->failed : r;
	}
	return r;
}

static int read_parts(struct scan *scan, struct scanner *scanner, char *piece, uint64_t *offset)
{
	int r = read_span(scan, scanner, piece);

	if (r != 0)
		return r;
	r = read_kept(scan, scanner, piece, offset);
	if (r != 0)
		return r;
	return scan->log.pipe >= 0 ? incidents_scan_read_pipe(scan, scanner, piece, offset) : 0;
}

static int read_log(struct scan *scan, struct scanner *scanner, struct error *error)
{
	_cleanup_free_ char *piece = malloc(PIECE_BYTES);
	uint64_t offset = 0;
	int r;

	if (!piece)
		return -ENOMEM;
	r = read_parts(scan, scanner, piece, &offset);
	if (r < 0)
		return error_set(error, r, "cannot read %s at byte %llu: %s", scan->log.name,
				 (unsigned long long)offset, strerror(-r));
	return scan->failed;
}

static int read_options(const struct scan *scan, struct scanner_options *scanner,
			struct error *error)
{
	const struct invocation *invocation = scan->invocation;
	const char *boot = option_value(invocation, "boot-time");
	struct when when;
	int r = 0;

	scanner->trust_users = option_given(invocation, "trust-user-kmsg");
	scanner->clock.end_ns = scan->log.changed_ns;
	scanner->clock.utc = option_given(invocation, "utc");
	if (boot)
		r = when_parse(boot, clock_ns(CLOCK_REALTIME), scanner->clock.utc, &when, error);
	if (r < 0)
		return error_prefix(error, r, "--boot-time");
	scanner->clock.has_boot = boot != NULL;
	scanner->clock.boot_ns = boot ? when.realtime_ns : 0;
	return 0;
}

static void incidents_scan_print_table(struct scan *scan, const struct scan_summary *summary)
{
	struct episode_table *table = &scan->table;
	size_t lesser = 0, rows;

	for (size_t i = 0; !scan->all && i < scan->episodes.list.count; i++) {
		const struct episode *episode = &scan->episodes.list.items[i];

		if (episode->kind->severity > SEVERITY_INFO)
			episode_table_row(table, episode, scan->covered.items[i]);
		else
			lesser++;
	}
	rows = episode_table_rows(table);
	say(scan->invocation, "%zu incident%s in %llu line%s of %s", rows, plural(rows),
	    (unsigned long long)summary->lines, plural(summary->lines), scan->log.name);
	if (lesser)
		say(scan->invocation, "%zu informational incident%s hidden (--all shows them)",
		    lesser, plural(lesser));
}

static void print_coverage(struct scan *scan, const struct scan_summary *summary)
{
	struct buffer *out = &scan->out;

	out->size = 0;
	json_open(out, '{');
	json_key(out, "coverage");
	json_open(out, '{');
	json_key(out, "source");
	json_string(out, scan->log.name);
	json_key(out, "bytes");
	json_u64(out, summary->bytes);
	json_key(out, "lines");
	json_u64(out, summary->lines);
	json_key(out, "incidents");
	json_u64(out, scan->shown);
	json_key(out, "forged");
	json_u64(out, summary->forged);
	json_key(out, "doubtful");
	json_u64(out, scan->doubtful);
	json_key(out, "damaged");
	json_bool(out, scan->log.damaged);
	json_close(out, '}');
	json_close(out, '}');
	buffer_u8(out, '\n');
	print_text(stdout, out, false);
}

static void print_losses(const struct scan *scan, const struct scan_summary *summary)
{
	if (summary->forged)
		say(scan->invocation, "%llu line%s written by users ignored; see --trust-user-kmsg",
		    (unsigned long long)summary->forged, plural(summary->forged));
	if (scan->doubtful)
		say(scan->invocation,
		    "%llu line%s doubtful: the log does not show where the kernel's messages begin",
		    (unsigned long long)scan->doubtful, plural(scan->doubtful));
	if (scan->map.unplaced)
		warn("%s jumps between segments too often; later lines keep its own times",
		     scan->log.name);
	if (scan->unclear)
		warn("%s names several zones: %llu incident%s without a time; use a log in UTC",
		     scan->unclear_zone, (unsigned long long)scan->unclear, plural(scan->unclear));
	if (scan->log.damaged)
		warn("%s is damaged or truncated: this is the part before", scan->log.name);
}

/* Without a store, times stay as in the log. A store on the command line must be readable. */
static int open_map(struct scan *scan, struct error *error)
{
	bool named =
		option_given(scan->invocation, "store") || option_given(scan->invocation, "add");
	int r = log_map_open(store_path(scan->invocation), &scan->map, error);

	return r < 0 && r != -ENOMEM && !named ? 0 : r;
}

/* Scans the log. Returns 0, 1 after a message about --kind, or a negative errno. */
static int scan_log(struct scan *scan, struct scan_summary *summary, struct error *error)
{
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	_cleanup_(cleanup_scanner) struct scanner *scanner = NULL;
	const char *folder = option_value(scan->invocation, "patterns");
	struct scanner_options scanner_options = { .give = take_incident, .context = scan };
	int r = catalogue_new(folder ? folder : INCIDENTS_FOLDER, &catalogue, error);

	if (r < 0)
		return r;
	if (kind_choice_check(scan->invocation, catalogue, NULL) != EXIT_DONE)
		return 1;
	r = read_options(scan, &scanner_options, error);
	if (r < 0)
		return r;
	scanner_options.catalogue = catalogue;
	r = scanner_new(&scanner_options, &scanner);
	if (r < 0)
		return r;
	r = read_log(scan, scanner, error);
	if (r < 0)
		return r;
	r = scanner_finish(scanner, summary);
	if (r < 0)
		return r;
	summary->forged += scan->forged;
	r = scan->failed;
	if (r < 0)
		return r;
	/* print the table here, because the catalogue owns the kinds */
	if (!scan->json) {
		incidents_scan_print_table(scan, summary);
		r = episode_table_end(&scan->table);
	}
	return r;
}

int incidents_scan(const struct invocation *invocation, const char *path)
{
	_cleanup_(scan_done) struct scan scan = {
		.invocation = invocation,
		.log = { .fd = -1, .pipe = -1 },
		.json = option_given(invocation, "json"),
		.all = option_given(invocation, "all"),
		.table = { .invocation = invocation, .by_line = true },
	};
	struct scan_summary summary;
	struct error error = { 0 };
	int r = log_input_open(path, scan.json, &scan.log, &error);

	if (r < 0)
		return fail(r, &error);
	r = open_map(&scan, &error);
	if (r < 0)
		return fail(r, &error);
	r = scan_log(&scan, &summary, &error);
	if (r > 0)
		return EXIT_USAGE;
	if (r < 0)
		return fail(r, &error);
	if (option_given(invocation, "add"))
		r = log_add_write(&scan.log_add, store_path(invocation), &error);
	if (r < 0)
		return fail(r, &error);
	if (scan.json)
		print_coverage(&scan, &summary);
	if (option_given(invocation, "add"))
		log_add_print_summary(&scan.log_add, invocation);
	print_losses(&scan, &summary);
	return EXIT_DONE;
}
