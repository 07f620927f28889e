// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/size.h"
#include "cli/options/command.h"
#include "cli/options/limit-options.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/recovered-text.h"
#include "cli/commands/recording.h"
#include "cli/commands/snapshot-keeper.h"
#include "cli/version.h"
#include "base/cpu-list.h"
#include "recorder/perf/perf-events.h"
#include "recorder/run/recorder.h"
#include "recorder/run/rights.h"
#include "recorder/trace/trace-set.h"

/* A host that a person can wait for: shorter segments would be mostly names. */
#define SEGMENT_MIN_NS (1 * NSEC_PER_SEC)
#define SEGMENT_MAX_NS (3600 * NSEC_PER_SEC)
#define FREQUENCY_MAX 100000
#define RING_MIN (64u << 10)
#define RING_ASKED_MIN 64000 /* "64K", rounded up */
#define RING_MAX (64u << 20)

static const char unsaved_format[] =
	"perftape: %llu samples could not be sealed; the next recording recovers what it can\n";

static const struct option options[] = {
	{ "duration", 'd', "LENGTH",
	  "stop after that long, such as 30s or 12h (default: until Ctrl-C)" },
	{ "event", 'e', "NAME",
	  "cycles, cpu-clock, page-faults or context-switches (default: cycles, else cpu-clock)" },
	{ "cpus", 0, "LIST", "only these CPUs, such as 0-3,8" },
	{ "trace", 0, "SYSTEM:EVENT",
	  "also record these trace events, separated by commas (repeatable)" },
	{ "no-user-stacks", 0, NULL, "keep only the kernel's part of the stacks" },
	{ "ring", 0, "SIZE",
	  "ring buffer size per CPU, 64K to 64M (default: 1M, less on small hosts)" },
	{ "frequency", 'F', "HZ", "samples a second on each CPU (default: 97)" },
	{ "segment", 0, "LENGTH", "how long a segment is, 1s to 1h (default: 2m)" },
	LIMIT_OPTIONS,
	{ "user", 0, "NAME",
	  "drop root, become that user and keep only the rights to sample and to name" },
	{ "patterns", 0, "DIR", "where own patterns are (default: /etc/perftape/incidents.d)" },
	{ "snapshot-dir", 0, "DIR", "leave a .tape of each incident's window there" },
	{ "trust-user-kmsg", 0, NULL,
	  "believe lines that users write into the kernel's log, for rehearsals" },
	{ 0 },
};

static int parse_duration(const struct invocation *invocation, const char *name, uint64_t *ret_ns)
{
	const char *text = option_value(invocation, name);

	if (!text || duration_parse(text, ret_ns) == 0)
		return EXIT_DONE;
	return option_error(invocation, name, "'%s' is no duration; write 250ms, 5s, 2m, 12h or 7d",
			    text);
}

static int parse_frequency(const struct invocation *invocation, unsigned int *ret_frequency)
{
	const char *text = option_value(invocation, "frequency");
	unsigned long frequency;
	char *end;

	if (!text)
		return EXIT_DONE;
	frequency = strtoul(text, &end, 10);
	if (*end || text[0] < '0' || text[0] > '9' || frequency < 1 || frequency > FREQUENCY_MAX)
		return option_error(invocation, "frequency", "'%s' is not a number from 1 to %d",
				    text, FREQUENCY_MAX);
	*ret_frequency = frequency;
	return EXIT_DONE;
}

static int parse_event(const struct invocation *invocation, const char **ret_event)
{
	const char *text = option_value(invocation, "event");

	if (!text)
		return EXIT_DONE;
	for (const char *const *name = perf_events_known(); *name; name++)
		if (strcmp(*name, text) == 0) {
			*ret_event = *name;
			return EXIT_DONE;
		}
	return option_error(
		invocation, "event",
		"'%s' is not one of cycles, cpu-clock, page-faults and context-switches", text);
}

static int parse_ring(const struct invocation *invocation, size_t *ret_bytes)
{
	const char *text = option_value(invocation, "ring");
	uint64_t bytes;

	if (!text)
		return EXIT_DONE;
	if (size_parse(text, &bytes) < 0 || bytes < RING_ASKED_MIN || bytes > RING_MAX)
		return option_error(invocation, "ring", "'%s' is no size from 64K to 64M", text);
	/* the kernel takes powers of two of pages */
	*ret_bytes = RING_MIN;
	while (*ret_bytes < bytes)
		*ret_bytes *= 2;
	return EXIT_DONE;
}

static int parse_cpus(const struct invocation *invocation, const char **ret_cpus)
{
	const char *text = option_value(invocation, "cpus");
	struct cpu_list list;

	if (!text)
		return EXIT_DONE;
	if (cpu_list_parse(text, &list) < 0)
		return option_error(invocation, "cpus", "'%s' is no list of CPUs; write 3 or 0-3,8",
				    text);
	cpu_list_done(&list);
	*ret_cpus = text;
	return EXIT_DONE;
}

/* All that were given, with commas between them. */
static int parse_trace(const struct invocation *invocation, struct buffer *names)
{
	const char *text = option_value(invocation, "trace");

	for (size_t i = 0; i < invocation->given_count; i++)
		if (strcmp(invocation->given[i].option->name, "trace") == 0)
			buffer_printf(names, "%s%s", names->size ? "," : "",
				      invocation->given[i].value);
	if (text && !names->size)
		buffer_text(names, text);
	buffer_u8(names, 0);
	if (buffer_failed(names))
		return fail(-ENOMEM, NULL);
	if (text && !trace_set_check((const char *)names->data))
		return option_error(invocation, "trace",
				    "'%s' is not SYSTEM:EVENT, such as sched:sched_process_exit",
				    names->data);
	return EXIT_DONE;
}

/* What is sampled, and how. */
static int parse_events(const struct invocation *invocation, struct recorder_options *ret)
{
	int r = parse_frequency(invocation, &ret->frequency);

	if (r == EXIT_DONE)
		r = parse_event(invocation, &ret->event);
	if (r == EXIT_DONE)
		r = parse_cpus(invocation, &ret->cpus);
	if (r == EXIT_DONE)
		r = parse_ring(invocation, &ret->ring_bytes);
	ret->no_user_stacks = option_given(invocation, "no-user-stacks");
	return r;
}

static int record_parse_options(const struct invocation *invocation, struct recorder_options *ret)
{
	int r = parse_duration(invocation, "duration", &ret->duration_ns);

	if (r == EXIT_DONE)
		r = parse_duration(invocation, "segment", &ret->segment_ns);
	if (r == EXIT_DONE)
		r = parse_events(invocation, ret);
	if (r == EXIT_DONE)
		r = limit_options_parse(invocation, &ret->limits);
	if (r != EXIT_DONE)
		return r;
	if (option_given(invocation, "duration") && !ret->duration_ns)
		return option_error(invocation, "duration", "0 records nothing");
	if (ret->segment_ns < SEGMENT_MIN_NS || ret->segment_ns > SEGMENT_MAX_NS)
		return option_error(invocation, "segment", "'%s' is not from 1s to 1h",
				    option_value(invocation, "segment"));
	return EXIT_DONE;
}

/*
 * Who drains also talks, and a terminal that is stopped, or behind a network that is gone, must not
 * hold that up: what it has no room for is not said. It is opened anew, as the shell and others
 * share the one that we were given.
 */
static void never_wait_for_readers(void)
{
	_cleanup_close_ int fd = -1;
	struct stat about;

	if (fstat(STDERR_FILENO, &about) < 0 ||
	    !(S_ISCHR(about.st_mode) || S_ISFIFO(about.st_mode)))
		return;
	fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		dup2(fd, STDERR_FILENO);
}

static void record_talk(bool live, const char *text, const char *more)
{
	if (live)
		progress_line_clear();
	fprintf(stderr, "perftape: %s%s\n", text, more);
}

/* A store that cannot be written is said once, and once more when it can again. */
static void tell_stall(const struct recorder_progress *progress, bool live)
{
	static bool told, told_unsaved;

	/* at the end it is not for want of memory, and is summed up */
	if (progress->unsaved && !told_unsaved && !progress->stopping)
		record_talk(
			live,
			"there is no more memory for what waits: the oldest samples stay unsaved",
			"");
	told_unsaved = progress->unsaved;
	if (progress->store_blocked == told)
		return;
	told = progress->store_blocked;
	if (told)
		record_talk(
			live, progress->error.text,
			"; what is recorded waits in memory, and it is tried again each second");
	else
		record_talk(live, "the store can be written again", "");
}

/* What cost no samples, each text once as long as there is no other. */
static void tell_warning(const struct recorder_progress *progress, bool live)
{
	static struct error told;

	if (strcmp(told.text, progress->warning.text) == 0)
		return;
	told = progress->warning;
	record_talk(live, told.text, "");
}

static void tell_recovered(const struct recorder_progress *progress, bool live)
{
	const struct store_recovered *recovered = &progress->recovered;
	uint64_t news = recovered->tapes + recovered->damaged + recovered->unread;
	static uint64_t told;
	char text[256];

	if (news == told)
		return;
	told = news;
	recovered_text(recovered, text, sizeof(text));
	record_talk(live, text, "");
}

static void tell_log_trouble(const struct recorder_progress *progress, bool live)
{
	static struct error told;

	if (strcmp(told.text, progress->log_trouble.text) == 0)
		return;
	told = progress->log_trouble;
	if (*told.text)
		record_talk(live, told.text, "");
}

/* What is said while it goes on, and at the end if there was no time for it before. */
static void tell_news(const struct recorder_progress *progress, bool live)
{
	tell_recovered(progress, live);
	tell_stall(progress, live);
	tell_warning(progress, live);
	tell_log_trouble(progress, live);
}

/* One line that is written over each second. */
static void show_line(const struct recorder_progress *progress)
{
	double drained = (progress->end_ns - progress->begin_ns) / 1e9;
	uint64_t elapsed_ns =
		(progress->elapsed_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC * NSEC_PER_SEC;
	char elapsed[32] = "0 s", text[256];
	int size;

	/* to the nearest second: it may come a little before one is over */
	if (elapsed_ns)
		duration_format(elapsed_ns, elapsed, sizeof(elapsed));
	/* what matters most first: a terminal may be narrow */
	size = snprintf(text, sizeof(text),
			"%s  %llu samples (%.0f/s)  %llu lost  %.1f MB  own CPU %.2f %%", elapsed,
			(unsigned long long)progress->samples,
			progress->samples / MAX(drained, 0.1), (unsigned long long)progress->lost,
			progress->bytes / 1e6,
			progress->cpu_ns / 1e7 / MAX(progress->elapsed_ns / 1e9, 0.1));
	snprintf(text + size, sizeof(text) - size, "  %s on %llu CPU%s, %llu segments",
		 progress->event, (unsigned long long)progress->cpus,
		 progress->cpus == 1 ? "" : "s", (unsigned long long)progress->segments);
	progress_line_line(progress->stopping ? "sealing what is left" : text);
}

static void record_show_progress(void *context, const struct recorder_progress *progress)
{
	struct recording *recording = context;

	tell_news(progress, recording->live);
	if (recording->live)
		show_line(progress);
	recording_tell(recording, progress);
}

/* A word as a shell takes it back. */
static void print_word(const char *word)
{
	if (*word &&
	    !word[strspn(
		    word,
		    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-")]) {
		fputs(word, stderr);
		return;
	}
	fputc('\'', stderr);
	for (; *word; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){ *word, 0 }, stderr);
	fputc('\'', stderr);
}

static void print_command(const struct invocation *invocation, const char *command)
{
	fputs("  ", stderr);
	print_word(program_name());
	fprintf(stderr, " %s", command);
	if (option_given(invocation, "store")) {
		fputs(" --store ", stderr);
		print_word(store_path(invocation));
	}
}

/* No segment is not nothing: what is in the spool comes back. */
static void tell_nothing(const struct invocation *invocation,
			 const struct recorder_progress *progress)
{
	if (progress->unsaved)
		return;
	if (progress->samples)
		say(invocation,
		    "%llu samples were not sealed; the next recording recovers those in the spool",
		    (unsigned long long)progress->samples);
	else
		say(invocation, "nothing was recorded");
}

static void say_recorded(const struct invocation *invocation,
			 const struct recorder_progress *progress)
{
	uint64_t samples = progress->samples - MIN(progress->samples, progress->unsaved);
	char elapsed[32], taken[96], sealed[96];

	snprintf(taken, sizeof(taken), "%llu samples, %llu lost%s", (unsigned long long)samples,
		 (unsigned long long)progress->lost, progress->unsaved ? " by the kernel" : "");
	snprintf(sealed, sizeof(sealed), "%llu segment%s, %.2f MB",
		 (unsigned long long)progress->segments, progress->segments == 1 ? "" : "s",
		 progress->bytes / 1e6);
	duration_format(progress->end_ns - progress->begin_ns, elapsed, sizeof(elapsed));
	say(invocation, "recorded %s of %llu CPU%s at %s: %s; %s in %s", elapsed,
	    (unsigned long long)progress->cpus, progress->cpus == 1 ? "" : "s", progress->event,
	    taken, sealed, store_path(invocation));
}

/* What was taken, and the two commands to look at it: all of it, or the last two minutes of more.
 */
static void record_tell(const struct invocation *invocation,
			const struct recorder_progress *progress)
{
	uint64_t span_ns = progress->end_ns - progress->begin_ns;
	uint64_t from_ns =
		progress->end_ns - (span_ns < RECORDER_SEGMENT_NS ? span_ns : RECORDER_SEGMENT_NS);
	bool utc = option_given(invocation, "utc");
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

	if (access(store_path(invocation), F_OK) < 0) {
		fprintf(stderr, "perftape: %s is not there any more, nor are its %llu samples\n",
			store_path(invocation), (unsigned long long)progress->samples);
		return;
	}
	if (progress->unsaved)
		fprintf(stderr, unsaved_format, (unsigned long long)progress->unsaved);
	if (!progress->samples || !progress->segments) {
		tell_nothing(invocation, progress);
		return;
	}
	say_recorded(invocation, progress);
	if (progress->removed)
		say(invocation,
		    "%llu of the segments, %.2f MB, were removed again to keep the limits",
		    (unsigned long long)progress->removed, progress->removed_bytes / 1e6);
	if (progress->away)
		say(invocation,
		    "%llu of the segments, %.2f MB, went with a store that was removed or replaced",
		    (unsigned long long)progress->away, progress->away_bytes / 1e6);
	if (progress->skipped)
		say(invocation, "%llu samples of busy CPUs skipped",
		    (unsigned long long)progress->skipped);
	if (progress->throttled)
		say(invocation, "the kernel throttled the sampling of a CPU %llu time%s",
		    (unsigned long long)progress->throttled, progress->throttled == 1 ? "" : "s");
	if (progress->lost_sideband || progress->damaged)
		say(invocation,
		    "%llu records of names and mappings were lost, %llu could not be read",
		    (unsigned long long)progress->lost_sideband,
		    (unsigned long long)progress->damaged);
	if (option_given(invocation, "quiet"))
		return;
	fputs("Look at it (the first lists it, the second writes a file for Flamescope):\n",
	      stderr);
	print_command(invocation, "segments");
	fputc('\n', stderr);
	print_command(invocation, "query");
	fprintf(stderr, " --from %s --to %s -o perftape.stacks\n",
		time_format(from_ns, utc, 3, from), time_format(progress->end_ns, utc, 3, to));
}

/* A mistake in own patterns must not cost a recording: then what is built in is looked for. */
static int load_patterns(const struct invocation *invocation, struct catalogue **ret_catalogue,
			 struct error *error)
{
	const char *folder = option_value(invocation, "patterns");
	int r;

	if (folder && access(folder, F_OK) < 0)
		fprintf(stderr, "perftape: --patterns %s: %s; there are no own patterns\n", folder,
			strerror(errno));
	r = catalogue_new(folder ? folder : INCIDENTS_FOLDER, ret_catalogue, error);

	if (r >= 0 || r == -ENOMEM)
		return r;
	fprintf(stderr, "perftape: %s; own patterns are left out\n", error->text);
	return catalogue_new(NULL, ret_catalogue, error);
}

static int keep_snapshots(const struct invocation *invocation, struct snapshot_keeper **ret_keeper)
{
	const char *folder = option_value(invocation, "snapshot-dir");
	struct error error = { 0 };
	int r;

	if (!folder)
		return 0;
	r = snapshot_keeper_start(store_path(invocation), folder, ret_keeper, &error);
	if (r == 1)
		fprintf(stderr, "perftape: %s\n", error.text);
	return r;
}

/* From a thread of its own. */
static void found_incident(void *context)
{
	const struct recording *recording = context;

	snapshot_keeper_found(recording->keeper);
}

/*
 * Before any event is opened: so what works at the start works for CPUs that come later, too. The
 * store is the user's if it is new, and what is above it stays root's.
 */
static int become_user(const struct invocation *invocation, struct error *error)
{
	const char *user = option_value(invocation, "user"), *store = store_path(invocation);
	struct stat about;
	int r = 0;

	rights_settle();
	if (!user)
		return 0;
	/* first, so that no folder is left behind that is of no use */
	if (geteuid() == 0)
		r = rights_may_reach(user, store, error);
	if (r == 0 && geteuid() == 0 && stat(store, &about) < 0)
		r = rights_make_folder(user, store, error);
	if (r == 0)
		r = rights_become(user, error);
	if (r == 0 && access(store, W_OK) < 0 && errno == EACCES)
		return error_set(
			error, -EACCES,
			"%s may not write to %s; run chown -R %s on it, or choose another --store",
			user, store, user);
	return r;
}

/* Before anything is recorded. Whoever met with the limit of open files, it is that of the whole.
 */
static int fail_open(int r, struct error *error)
{
	if (r == -EMFILE && !strstr(error->text, "RLIMIT_NOFILE"))
		perf_events_few_files(sysconf(_SC_NPROCESSORS_ONLN), error);
	return fail(r, error);
}

static int record_record(struct recording *recording, struct recorder_options *asked)
{
	const struct invocation *invocation = recording->invocation;
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_recorder) struct recorder *recorder = NULL;
	_cleanup_(cleanup_snapshot_keeper) struct snapshot_keeper *keeper = NULL;
	struct recorder_progress progress = { 0 };
	struct error error = { 0 };
	int r = recorder_new(asked, &recorder, &error);

	if (r == 0)
		r = become_user(invocation, &error);
	if (r == 0)
		r = load_patterns(invocation, &catalogue, &error);
	asked->catalogue = catalogue;
	asked->trust_users = option_given(invocation, "trust-user-kmsg");
	if (r == 0)
		r = recorder_open(recorder, &error);
	if (r == 0)
		r = store_writer_open(store_path(invocation), &writer, &error);
	if (r < 0)
		return fail_open(r, &error);
	r = keep_snapshots(invocation, &keeper);
	if (r < 0)
		return fail(r, NULL);
	recording->keeper = keeper;
	if (recording->live)
		say(invocation, "recording into %s; Ctrl-C ends it", store_path(invocation));
	r = recorder_run(recorder, store_path(invocation), writer, &progress, &error);
	recording_stopping(recording);
	if (recording->live)
		progress_line_clear();
	tell_recovered(&progress, false);
	tell_warning(&progress, false);
	tell_log_trouble(&progress, false);
	if (r < 0)
		r = fail(r, &error);
	record_tell(invocation, &progress);
	/* there are threads that cannot be ended, and what they use has to stay */
	if (progress.hung)
		_exit(r);
	return r;
}

static int record_run(const struct invocation *invocation)
{
	struct recorder_options asked = {
		.frequency = RECORDER_FREQUENCY,
		.segment_ns = RECORDER_SEGMENT_NS,
		.memory_bytes = RECORDER_MEMORY_BYTES,
		.version = PERFTAPE_VERSION,
		.progress = record_show_progress,
		.reload = recording_reload,
		.found = found_incident,
	};
	_cleanup_(buffer_done) struct buffer trace = { 0 };
	struct recording recording;
	int r;

	store_limits_default(store_path(invocation), &asked.limits);
	r = record_parse_options(invocation, &asked);
	if (r == EXIT_DONE)
		r = parse_trace(invocation, &trace);
	if (r != EXIT_DONE)
		return r;
	asked.trace = (const char *)trace.data;
	recording_init(&recording, invocation);
	asked.orders = recording_orders();
	asked.context = &recording;
	never_wait_for_readers();
	r = record_record(&recording, &asked);
	recording_done(&recording);
	return r;
}

const struct command command_record = {
	.name = "record",
	.summary = "Sample all CPUs into the store until stopped",
	.options = options,
	.run = record_run,
};
