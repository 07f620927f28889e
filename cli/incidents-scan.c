// SPDX-License-Identifier: GPL-2.0-only
#include "cli/incidents-scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/additions.h"
#include "cli/episode-table.h"
#include "cli/progress.h"
#include "cli/queue-map.h"
#include "pack/unpack.h"
#include "query/when.h"

#define PIECE_BYTES (1 << 20)
#define EDGE_BYTES (64 << 10) /* of the beginning and the end, to know the year */
#define UNPACKED_MAX (1ull << 40)
#define SOURCE_MAX 4200

struct scan {
	const struct invocation *invocation;
	const char *name; /* of the file, as people know it */
	int fd;
	uint64_t size;
	uint64_t changed_ns;
	bool json, all, damaged;
	struct log_map map;
	struct buffer out; /* JSON */
	struct episodes episodes;
	array_of(enum covered) covered; /* of each episode, as far as it was recorded */
	struct episode_table table; /* of --all */
	struct additions additions;
	uint64_t count; /* incidents so far */
	uint64_t shown;
	int failed;
};

static void scan_done(struct scan *scan)
{
	buffer_done(&scan->out);
	episodes_done(&scan->episodes);
	array_done(&scan->covered);
	buffer_done(&scan->table.out);
	additions_done(&scan->additions);
	log_map_done(&scan->map);
	if (scan->fd >= 0)
		close(scan->fd);
}

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

/* What comes through a pipe goes into a file without a name: the year of a log can only be told from its end. */
static int keep_pipe(struct scan *scan, struct error *error)
{
	const char *folder = temporary_folder();
	_cleanup_close_ int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	_cleanup_free_ char *piece = malloc(PIECE_BYTES);
	ssize_t got;
	int r = 0;

	if (file < 0)
		return error_set(
			error, -errno, "cannot keep the input in %s: %s", folder, strerror(errno));
	if (!piece)
		return -ENOMEM;
	while (r == 0 && (got = read(scan->fd, piece, PIECE_BYTES)) != 0) {
		if (got > 0)
			r = file_write_all(file, piece, got);
		else if (errno != EINTR)
			return error_set(
				error, -errno, "cannot read standard input: %s", strerror(errno));
	}
	if (r < 0)
		return error_set(error, r, "cannot keep the input in %s: %s", folder, strerror(-r));
	close(scan->fd);
	scan->fd = take_fd(file);
	return 0;
}

static int open_log(struct scan *scan, const char *path, struct error *error)
{
	bool standard = !strcmp(path, "-");
	struct stat about_file;
	int r;

	scan->name = standard ? "standard input" : path;
	scan->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
			    : open(path, O_RDONLY | O_CLOEXEC);
	if (scan->fd < 0 || fstat(scan->fd, &about_file) < 0)
		return error_set(error, -errno, "cannot read %s: %s", scan->name, strerror(errno));
	if (S_ISDIR(about_file.st_mode))
		return error_set(error, -EISDIR, "%s is a folder; name a file", scan->name);
	scan->changed_ns = clock_ns(CLOCK_REALTIME);
	if (S_ISREG(about_file.st_mode) && !standard)
		scan->changed_ns = about_file.st_mtim.tv_sec * NSEC_PER_SEC;
	if (!S_ISREG(about_file.st_mode)) {
		r = keep_pipe(scan, error);
		if (r < 0)
			return r;
	}
	r = unpack_file(&scan->fd, temporary_folder(), UNPACKED_MAX, &scan->damaged, error);
	if (r < 0)
		return error_prefix(error, r, "%s", scan->name);
	if (fstat(scan->fd, &about_file) < 0)
		return error_set(error, -errno, "cannot read %s: %s", scan->name, strerror(errno));
	scan->size = about_file.st_size;
	return 0;
}

static const char *source_text(
	const struct scan *scan, const struct incident *incident, char source[SOURCE_MAX])
{
	snprintf(source, SOURCE_MAX, "%.4000s:%llu", scan->name,
		(unsigned long long)incident->line_number);
	return source;
}

static void print_json(struct scan *scan, const struct incident *incident, enum covered covered)
{
	char source[SOURCE_MAX];

	scan->out.size = 0;
	incident_json(incident, source_text(scan, incident, source), covered, &scan->out);
	fwrite(scan->out.data, 1, scan->out.size, stdout);
}

/* An episode is covered as its lines are. */
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

static bool is_asked(const struct scan *scan, const struct incident *incident)
{
	const char *kind = option_value(scan->invocation, "kind");

	return !kind || book_kind_is(incident->kind->name, kind, strlen(kind));
}

static int show_incident(struct scan *scan, const struct incident *incident, enum covered covered)
{
	scan->shown++;
	if (scan->json)
		print_json(scan, incident, covered);
	else if (scan->all)
		episode_table_incident(&scan->table, incident, covered);
	else
		return add_to_episode(scan, incident, covered);
	return 0;
}

static void take_incident(void *context, const struct incident *given)
{
	struct scan *scan = context;
	struct incident incident = *given;
	char source[SOURCE_MAX], queue_cpu[QUEUE_CPU_SIZE];
	struct log_place place;
	int r;

	incident.id = ++scan->count;
	if (!is_asked(scan, &incident) || scan->failed)
		return;
	r = log_map_place(&scan->map, &incident, &place);
	incident.moment = place.moment;
	incident.boot_id = place.boot_id;
	queue_map_add(&scan->map, &place, &incident.fields, queue_cpu);
	if (r == 0 && option_given(scan->invocation, "add"))
		r = additions_put(
			&scan->additions, &incident, &place, source_text(scan, &incident, source));
	if (r == 0)
		r = show_incident(scan, &incident, place.covered);
	scan->failed = r;
}

static ssize_t read_at(const struct scan *scan, char *data, size_t size, uint64_t offset)
{
	ssize_t got;

	do {
		got = pread(scan->fd, data, size, offset);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int read_span(const struct scan *scan, struct scanner *scanner, char *piece)
{
	char *tail = piece + EDGE_BYTES;
	ssize_t head_size = read_at(scan, piece, EDGE_BYTES, 0);
	ssize_t tail_size = read_at(
		scan, tail, EDGE_BYTES, scan->size > EDGE_BYTES ? scan->size - EDGE_BYTES : 0);

	if (head_size < 0 || tail_size < 0)
		return head_size < 0 ? head_size : tail_size;
	scanner_span(scanner, piece, head_size, tail, tail_size);
	return 0;
}

static int read_log(struct scan *scan, struct scanner *scanner, struct error *error)
{
	_cleanup_free_ char *piece = malloc(PIECE_BYTES);
	struct progress progress;
	uint64_t offset = 0;
	ssize_t got;
	int r;

	if (!piece)
		return -ENOMEM;
	progress_start(&progress, "scanning", option_given(scan->invocation, "quiet"));
	r = read_span(scan, scanner, piece);
	while (r == 0) {
		got = read_at(scan, piece, PIECE_BYTES, offset);
		if (got <= 0) {
			r = got;
			break;
		}
		offset += got;
		r = scanner_feed(scanner, piece, got);
		progress_show(&progress, MIN(offset, scan->size), scan->size);
	}
	progress_end(&progress);
	if (r < 0)
		return error_set(error, r, "cannot read %s at byte %llu: %s", scan->name,
			(unsigned long long)offset, strerror(-r));
	return scan->failed;
}

static int read_options(
	const struct scan *scan, struct scanner_options *scanner, struct error *error)
{
	const struct invocation *invocation = scan->invocation;
	const char *boot = option_value(invocation, "boot-time");
	struct when when;
	int r = 0;

	scanner->trust_users = option_given(invocation, "trust-user-kmsg");
	scanner->clock.end_ns = scan->changed_ns;
	scanner->clock.utc = option_given(invocation, "utc");
	if (boot)
		r = when_parse(boot, clock_ns(CLOCK_REALTIME), scanner->clock.utc, &when, error);
	if (r < 0)
		return error_prefix(error, r, "--boot-time");
	scanner->clock.has_boot = boot != NULL;
	scanner->clock.boot_ns = boot ? when.realtime_ns : 0;
	return 0;
}

static void print_table(struct scan *scan, const struct scan_summary *summary)
{
	struct episode_table *table = &scan->table;
	size_t lesser = 0;

	for (size_t i = 0; !scan->all && i < scan->episodes.list.count; i++) {
		const struct episode *episode = &scan->episodes.list.items[i];

		if (episode->kind->severity > SEVERITY_INFO)
			episode_table_row(table, episode, scan->covered.items[i]);
		else
			lesser++;
	}
	say(scan->invocation, "%zu incident%s in %llu line%s of %s", table->rows,
		table->rows == 1 ? "" : "s", (unsigned long long)summary->lines,
		summary->lines == 1 ? "" : "s", scan->name);
	if (lesser)
		say(scan->invocation, "%zu of no weight alone: --all shows them", lesser);
}

static void print_coverage(struct scan *scan, const struct scan_summary *summary)
{
	struct buffer *out = &scan->out;

	out->size = 0;
	json_open(out, '{');
	json_key(out, "coverage");
	json_open(out, '{');
	json_key(out, "source");
	json_string(out, scan->name);
	json_key(out, "bytes");
	json_u64(out, summary->bytes);
	json_key(out, "lines");
	json_u64(out, summary->lines);
	json_key(out, "incidents");
	json_u64(out, scan->shown);
	json_key(out, "forged");
	json_u64(out, summary->forged);
	json_key(out, "damaged");
	json_bool(out, scan->damaged);
	json_close(out, '}');
	json_close(out, '}');
	buffer_u8(out, '\n');
	fwrite(out->data, 1, out->size, stdout);
}

static void print_losses(const struct scan *scan, const struct scan_summary *summary)
{
	if (summary->forged)
		say(scan->invocation,
			"%llu line%s that the kernel did not write passed over; see "
			"--trust-user-kmsg",
			(unsigned long long)summary->forged, summary->forged == 1 ? "" : "s");
	if (scan->damaged)
		fprintf(stderr, "perftape: %s is damaged or cut short: this is what came before\n",
			scan->name);
}

/* Without a store nothing is placed in it; who names one means it. */
static int open_map(struct scan *scan, struct error *error)
{
	bool named =
		option_given(scan->invocation, "store") || option_given(scan->invocation, "add");
	int r = log_map_open(store_path(scan->invocation), &scan->map, error);

	return r < 0 && r != -ENOMEM && !named ? 0 : r;
}

static int scan_log(struct scan *scan, struct scan_summary *summary, struct error *error)
{
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	_cleanup_(cleanup_scanner) struct scanner *scanner = NULL;
	const char *folder = option_value(scan->invocation, "patterns");
	struct scanner_options scanner_options = { .give = take_incident, .context = scan };
	int r = catalogue_new(folder ? folder : INCIDENTS_FOLDER, &catalogue, error);

	if (r == 0)
		r = read_options(scan, &scanner_options, error);
	scanner_options.catalogue = catalogue;
	if (r == 0)
		r = scanner_new(&scanner_options, &scanner);
	if (r == 0)
		r = read_log(scan, scanner, error);
	if (r == 0)
		r = scanner_finish(scanner, summary);
	if (r == 0)
		r = scan->failed;
	/* kinds are the catalogue's */
	if (r == 0 && !scan->json) {
		print_table(scan, summary);
		r = episode_table_end(&scan->table);
	}
	return r;
}

int incidents_scan(const struct invocation *invocation, const char *path)
{
	_cleanup_(scan_done) struct scan scan = {
		.invocation = invocation,
		.fd = -1,
		.json = option_given(invocation, "json"),
		.all = option_given(invocation, "all"),
		.table = { .invocation = invocation, .by_line = true },
	};
	struct scan_summary summary;
	struct error error = { 0 };
	int r = open_log(&scan, path, &error);

	if (r == 0)
		r = open_map(&scan, &error);
	if (r == 0)
		r = scan_log(&scan, &summary, &error);
	if (r == 0 && option_given(invocation, "add"))
		r = additions_write(&scan.additions, store_path(invocation), &error);
	if (r < 0)
		return fail(r, &error);
	if (scan.json)
		print_coverage(&scan, &summary);
	if (option_given(invocation, "add"))
		additions_tell(&scan.additions, invocation);
	print_losses(&scan, &summary);
	return EXIT_DONE;
}
