// SPDX-License-Identifier: GPL-2.0-only
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
#include "cli/command.h"
#include "cli/incidents-list.h"
#include "cli/progress.h"
#include "cli/window-options.h"
#include "incidents/episode.h"
#include "incidents/incident-json.h"
#include "pack/unpack.h"
#include "query/when.h"

#define PIECE_BYTES (1 << 20)
#define EDGE_BYTES (64 << 10) /* of the beginning and the end, to know the year */
#define UNPACKED_MAX (1ull << 40)

static const struct option options[] = {
	{ "at", 0, "TIME", "those of the store around a moment" },
	{ "before", 0, "LENGTH", "how much before it (default: 30s)" },
	{ "after", 0, "LENGTH", "how much after it (default: 5s)" },
	{ "from", 0, "TIME", "or: the start of the window" },
	{ "to", 0, "TIME", "and its end (default: now)" },
	{ "since", 0, "TIME", "the same as --from" },
	{ "until", 0, "TIME", "the same as --to" },
	{ "json", 0, NULL, "one line of JSON for each incident, and one for what was read" },
	{ "boot-time", 0, "TIME", "when the host was booted, for logs that say only the uptime" },
	{ "trust-user-kmsg", 0, NULL, "believe lines that users wrote into the kernel's log" },
	{ "patterns", 0, "DIR", "where own patterns are (default: /etc/perftape/incidents.d)" },
	{ 0 },
};

static const char about[] =
	"Without a word: those that the store knows of, all of them or those of a window.\n"
	"\n"
	"incidents scan FILE reads any log, \"-\" is standard input: dmesg, journalctl, syslog, "
	"CloudWatch,\n"
	"Loki, netconsole, container logs and pastes of them, gzipped or packed with xz or zstd.\n"
	"What belongs together is one line of the table; --json has each line of the log.\n"
	"\n"
	"Times that say no zone are in the local one, with --utc in UTC.\n";

struct scan {
	const struct invocation *invocation;
	const char *name; /* of the file, as people know it */
	int fd;
	uint64_t size;
	uint64_t changed_ns;
	bool json, damaged;
	struct buffer out;
	struct episodes episodes;
	int failed;
};

static void scan_done(struct scan *scan)
{
	buffer_done(&scan->out);
	episodes_done(&scan->episodes);
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

static void print_json(struct scan *scan, const struct incident *incident)
{
	char source[4200];

	snprintf(source, sizeof(source), "%.4000s:%llu", scan->name,
		(unsigned long long)incident->line_number);
	scan->out.size = 0;
	incident_json(incident, ++scan->episodes.count, source, false, &scan->out);
	fwrite(scan->out.data, 1, scan->out.size, stdout);
}

static void take_incident(void *context, const struct incident *incident)
{
	struct scan *scan = context;

	if (scan->json)
		print_json(scan, incident);
	else if (episodes_add(&scan->episodes, incident) < 0)
		scan->failed = -ENOMEM;
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

static const char *moment_text(const struct scan *scan, const struct episode *episode, char *text)
{
	uint64_t uptime_us = episode->first.uptime_ns / NSEC_PER_USEC;

	if (episode->first.has_time)
		return time_format(
			episode->first.realtime_ns, option_given(scan->invocation, "utc"), 3, text);
	if (episode->first.has_uptime)
		snprintf(text, TIME_TEXT_SIZE, "[%llu.%06llu]",
			(unsigned long long)(uptime_us / 1000000),
			(unsigned long long)(uptime_us % 1000000));
	else
		strcpy(text, "-");
	return text;
}

static void print_episode(const struct scan *scan, const struct episode *episode)
{
	char time[TIME_TEXT_SIZE], stall[32] = "-", cpu[24] = "-", queue[24] = "-", where[112];
	bool named;

	if (episode->stall_ns)
		duration_format(episode->stall_ns, stall, sizeof(stall));
	if (episode->has_cpu)
		snprintf(cpu, sizeof(cpu), "%llu", (unsigned long long)episode->cpu);
	if (episode->has_queue)
		snprintf(queue, sizeof(queue), "%llu", (unsigned long long)episode->queue);
	named = *episode->ifname && strcmp(episode->ifname, episode->device) != 0;
	snprintf(where, sizeof(where), "%s%s%s",
		*episode->device ? episode->device
		: *episode->comm ? episode->comm
				 : "-",
		named ? " " : "", named ? episode->ifname : "");
	printf("%8llu  %-29s  %-6s  %-20s  %-19s  %9s %5s %5s %7llu %7llu  no\n",
		(unsigned long long)episode->line_number, moment_text(scan, episode, time),
		severity_name(episode->kind->severity), episode->kind->name, where, stall, cpu,
		queue, (unsigned long long)episode->incidents, (unsigned long long)episode->resets);
}

static bool is_worth_a_row(const struct episode *episode)
{
	return episode->kind->severity > SEVERITY_INFO;
}

static void print_table(const struct scan *scan, const struct scan_summary *summary)
{
	size_t rows = 0, lesser = 0;

	for (size_t i = 0; i < scan->episodes.list.count; i++) {
		const struct episode *episode = &scan->episodes.list.items[i];

		if (!is_worth_a_row(episode)) {
			lesser++;
			continue;
		}
		if (!rows++)
			printf("%8s  %-29s  %-6s  %-20s  %-19s  %9s %5s %5s %7s %7s  %s\n", "line",
				"time", "weight", "kind", "where", "stall", "cpu", "queue", "lines",
				"resets", "covered");
		print_episode(scan, episode);
	}
	say(scan->invocation, "%zu incident%s in %llu line%s of %s", rows, rows == 1 ? "" : "s",
		(unsigned long long)summary->lines, summary->lines == 1 ? "" : "s", scan->name);
	if (lesser)
		say(scan->invocation, "%zu of no weight alone: --json shows them", lesser);
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
	json_u64(out, summary->incidents);
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

static int scan_log(struct scan *scan, const char *path)
{
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	_cleanup_(cleanup_scanner) struct scanner *scanner = NULL;
	const char *folder = option_value(scan->invocation, "patterns");
	struct scanner_options scanner_options = { .give = take_incident, .context = scan };
	struct scan_summary summary;
	struct error error = { 0 };
	int r = catalogue_new(folder ? folder : INCIDENTS_FOLDER, &catalogue, &error);

	scan->json = option_given(scan->invocation, "json");
	if (r == 0)
		r = open_log(scan, path, &error);
	if (r == 0)
		r = read_options(scan, &scanner_options, &error);
	scanner_options.catalogue = catalogue;
	if (r == 0)
		r = scanner_new(&scanner_options, &scanner);
	if (r == 0)
		r = read_log(scan, scanner, &error);
	if (r == 0)
		r = scanner_finish(scanner, &summary);
	if (r < 0)
		return fail(r, &error);
	if (scan->json)
		print_coverage(scan, &summary);
	else
		print_table(scan, &summary);
	print_losses(scan, &summary);
	return EXIT_DONE;
}

static int run(const struct invocation *invocation)
{
	_cleanup_(scan_done) struct scan scan = { .invocation = invocation, .fd = -1 };

	if (!invocation->word_count)
		return incidents_list(invocation);
	if (invocation->word_count != 2 || strcmp(invocation->words[0], "scan"))
		return usage_error(
			"which log? perftape incidents scan FILE, or - for standard input");
	if (window_given(invocation))
		return usage_error("a window is of the store; scan reads all of its log");
	return scan_log(&scan, invocation->words[1]);
}

const struct command command_incidents = {
	.name = "incidents",
	.arguments = "[scan FILE]",
	.summary = "List what the kernel complained about, or find it in any log",
	.about = about,
	.options = options,
	.run = run,
};
