// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/run/capabilities.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/options/command.h"
#include "cli/options/limit-options.h"
#include "cli/answer/limit-change.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/recovered-text.h"
#include "cli/commands/record-options.h"
#include "cli/commands/recording.h"
#include "cli/commands/snapshot-keeper.h"
#include "cli/options/print.h"
#include "cli/version.h"
#include "recorder/perf/perf-events.h"
#include "recorder/run/recorder.h"
#include "recorder/run/rights.h"
#include "store/write/folder-rights.h"
#include "store/disk/files.h"

/*
 * The interval between reports. A full store removes a segment every two minutes, which is too
 * often for a report.
 */
#define REMOVED_AGAIN_NS (3600 * NSEC_PER_SEC)

static const char unsaved_format[] =
	"%llu sample%s could not be sealed; the next recording recovers what it can";

/*
 * The thread that drains the ring buffers also prints messages. A terminal that is stopped, or
 * behind a lost network, must not block this thread, so messages that do not fit are dropped.
 * Standard error is opened anew, because O_NONBLOCK would affect the shell that shares it.
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

static void record_print_message(bool live, const char *text, const char *more)
{
	if (live)
		progress_line_clear();
	warn("%s%s", text, more);
}

/* Reports once that the store cannot be written, and once that it can again. */
static void report_stall(const struct recorder_progress *progress, bool live)
{
	static bool reported, reported_unsaved;

	/* while the recorder stops, leave the unsaved samples to the summary */
	if (progress->unsaved && !reported_unsaved && !progress->stopping)
		record_print_message(
			live, "no memory is left for waiting samples: the oldest stay unsaved", "");
	reported_unsaved = progress->unsaved;
	if (progress->store_blocked == reported)
		return;
	reported = progress->store_blocked;
	if (reported)
		record_print_message(
			live, progress->error.text,
			"; samples wait in memory, and writing is tried again each second");
	else
		record_print_message(live, "the store can be written again", "");
}

/* Prints each new warning once. The cause of a warning costs no samples. */
static void report_warning(const struct recorder_progress *progress, bool live)
{
	static struct error reported;

	if (strcmp(reported.text, progress->warning.text) == 0)
		return;
	reported = progress->warning;
	record_print_message(live, reported.text, "");
}

static void report_recovered(const struct recorder_progress *progress, bool live)
{
	const struct store_recovered *recovered = &progress->recovered;
	uint64_t news = recovered->tapes + recovered->damaged + recovered->unread;
	static uint64_t reported;
	char text[256];

	if (news == reported)
		return;
	reported = news;
	recovered_text(recovered, text, sizeof(text));
	record_print_message(live, text, "");
}

static void report_log_trouble(const struct recorder_progress *progress, bool live)
{
	static struct error reported;

	if (strcmp(reported.text, progress->log_trouble.text) == 0)
		return;
	reported = progress->log_trouble;
	if (*reported.text)
		record_print_message(live, reported.text, "");
}

/*
 * Reports what the limits removed: at once, then once per hour, and at the end. Prints the report
 * with -q, too, because a removal of data is never silent.
 */
static void report_removed(const struct recording *recording,
			   const struct recorder_progress *progress, bool live)
{
	const struct store_retained *retained = &progress->retained;
	static uint64_t reported, reported_ns;
	bool utc = option_given(recording->invocation, "utc");
	char size[32], from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (retained->removed == reported ||
	    (reported && !progress->stopping && now_ns - reported_ns < REMOVED_AGAIN_NS))
		return;
	reported = retained->removed;
	reported_ns = now_ns;
	if (live)
		progress_line_clear();
	warn("removed %llu segment%s so far to keep the limits, %s, %s to %s",
	     (unsigned long long)reported, plural(reported),
	     size_format(retained->removed_bytes, size, sizeof(size)),
	     time_format(retained->from_ns, utc, 0, from),
	     time_format(retained->to_ns, utc, 0, to));
}

/* Prints the messages that are new since the last call. Also called at the end. */
static void report_news(const struct recording *recording, const struct recorder_progress *progress)
{
	bool live = recording->live;

	report_recovered(progress, live);
	report_removed(recording, progress, live);
	report_stall(progress, live);
	report_warning(progress, live);
	report_log_trouble(progress, live);
}

/* Overwrites the progress line each second. */
static void show_line(const struct recorder_progress *progress)
{
	double drained = (progress->end_ns - progress->begin_ns) / 1e9;
	uint64_t elapsed_ns =
		(progress->elapsed_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC * NSEC_PER_SEC;
	char elapsed[32] = "0 s", text[256], bytes[32];
	int size;

	/* elapsed_ns is rounded, because the report may come slightly before the second is over */
	if (elapsed_ns)
		duration_format(elapsed_ns, elapsed, sizeof(elapsed));
	/* the most important values come first, because the terminal's width limits the line */
	size = snprintf(text, sizeof(text),
			"%s  %llu samples (%.0f/s)  %llu lost  %s  own CPU %.2f %%", elapsed,
			(unsigned long long)progress->samples,
			progress->samples / MAX(drained, 0.1), (unsigned long long)progress->lost,
			size_format(progress->bytes, bytes, sizeof(bytes)),
			progress->cpu_ns / 1e7 / MAX(progress->elapsed_ns / 1e9, 0.1));
	snprintf(text + size, sizeof(text) - size, "  %s on %llu CPU%s, %llu segments",
		 progress->event, (unsigned long long)progress->cpus, plural(progress->cpus),
		 (unsigned long long)progress->segments);
	progress_line_line(progress->stopping ? "sealing the last samples" : text);
}

static void record_show_progress(void *context, const struct recorder_progress *progress)
{
	struct recording *recording = context;

	report_news(recording, progress);
	if (recording->live)
		show_line(progress);
	recording_report(recording, progress);
}

/* Quotes a word for a shell. */
static void put_word(const char *word, struct buffer *text)
{
	if (*word &&
	    !word[strspn(
		    word,
		    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-")]) {
		buffer_text(text, word);
		return;
	}
	buffer_u8(text, '\'');
	for (; *word; word++)
		buffer_text(text, *word == '\'' ? "'\\''" : (char[]){ *word, 0 });
	buffer_u8(text, '\'');
}

/* Prints a command to paste. */
static void print_command(const struct invocation *invocation, const char *command,
			  const char *options_of)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	put_word(program_name(), &text);
	buffer_printf(&text, " %s", command);
	if (option_given(invocation, "store")) {
		buffer_text(&text, " --store ");
		put_word(store_path(invocation), &text);
	}
	buffer_text(&text, options_of);
	buffer_u8(&text, 0);
	if (!buffer_failed(&text))
		print_shell_command((const char *)text.data);
	else
		warn("out of memory");
}

static const char commands_head[] =
	"The first command lists the recording, the second writes a file for Flamescope:\n";

static void print_commands(const struct invocation *invocation, uint64_t from_ns, uint64_t to_ns)
{
	bool utc = option_given(invocation, "utc");
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], window[256];

	snprintf(window, sizeof(window), " --from %s --to %s -o perftape.stacks",
		 time_format(from_ns, utc, 3, from), time_format(to_ns, utc, 3, to));
	print_string(stderr, commands_head);
	print_command(invocation, "segments", "");
	print_command(invocation, "query", window);
}

/* Prints that samples were not sealed. Samples in the spool are not lost. */
static void print_not_sealed(const struct invocation *invocation,
			     const struct recorder_progress *progress)
{
	if (progress->unsaved)
		return;
	if (progress->samples)
		say(invocation,
		    "%llu sample%s not sealed; the next recording recovers those in the spool",
		    (unsigned long long)progress->samples,
		    progress->samples == 1 ? " was" : "s were");
	else
		say(invocation, "nothing was recorded");
}

static void say_recorded(const struct invocation *invocation,
			 const struct recorder_progress *progress)
{
	uint64_t samples = progress->samples - MIN(progress->samples, progress->unsaved);
	char elapsed[32], taken[96], sealed[96], bytes[32];

	snprintf(taken, sizeof(taken), "%llu sample%s, %llu lost%s", (unsigned long long)samples,
		 plural(samples), (unsigned long long)progress->lost,
		 progress->unsaved ? " by the kernel" : "");
	snprintf(sealed, sizeof(sealed), "%llu segment%s, %s",
		 (unsigned long long)progress->segments, plural(progress->segments),
		 size_format(progress->bytes, bytes, sizeof(bytes)));
	duration_format(progress->end_ns - progress->begin_ns, elapsed, sizeof(elapsed));
	say(invocation, "recorded %s of %llu CPU%s at %s: %s; %s in %s", elapsed,
	    (unsigned long long)progress->cpus, plural(progress->cpus), progress->event, taken,
	    sealed, store_path(invocation));
}

/*
 * Sums up the recording, and prints two commands to look at it. The second shows at most the last
 * two minutes.
 */
static void record_print_summary(const struct invocation *invocation,
				 const struct recorder_progress *progress)
{
	char bytes[32];
	uint64_t span_ns = progress->end_ns - progress->begin_ns;
	uint64_t from_ns =
		progress->end_ns - (span_ns < RECORDER_SEGMENT_NS ? span_ns : RECORDER_SEGMENT_NS);

	if (access(store_path(invocation), F_OK) < 0) {
		warn("%s was removed, and its %llu sample%s with it", store_path(invocation),
		     (unsigned long long)progress->samples, plural(progress->samples));
		return;
	}
	if (progress->unsaved)
		warn(unsaved_format, (unsigned long long)progress->unsaved,
		     plural(progress->unsaved));
	if (!progress->samples || !progress->segments) {
		print_not_sealed(invocation, progress);
		return;
	}
	say_recorded(invocation, progress);
	if (progress->removed)
		say(invocation, "removed %llu segment%s again, %s, to keep the limits",
		    (unsigned long long)progress->removed, plural(progress->removed),
		    size_format(progress->removed_bytes, bytes, sizeof(bytes)));
	if (progress->away)
		say(invocation,
		    "%llu segment%s, %s, were lost with a store that was removed or replaced",
		    (unsigned long long)progress->away, plural(progress->away),
		    size_format(progress->away_bytes, bytes, sizeof(bytes)));
	if (progress->skipped)
		say(invocation, "%llu sample%s of busy CPUs skipped",
		    (unsigned long long)progress->skipped, plural(progress->skipped));
	if (progress->throttled)
		say(invocation, "the kernel throttled the sampling of a CPU %llu time%s",
		    (unsigned long long)progress->throttled, plural(progress->throttled));
	if (progress->lost_sideband || progress->damaged)
		say(invocation,
		    "%llu records of names and mappings were lost, %llu could not be read",
		    (unsigned long long)progress->lost_sideband,
		    (unsigned long long)progress->damaged);
	if (option_given(invocation, "quiet"))
		return;
	print_commands(invocation, from_ns, progress->end_ns);
}

/*
 * Loads the patterns. A mistake in the user's patterns must not prevent a recording, so the
 * built-in ones remain.
 */
static int load_patterns(const struct invocation *invocation, struct catalogue **ret_catalogue,
			 struct error *error)
{
	const char *folder = option_value(invocation, "patterns");
	int r;

	if (folder && access(folder, F_OK) < 0)
		warn("--patterns %s: %s; only the built-in patterns are used", folder,
		     strerror(errno));
	r = catalogue_new(folder ? folder : INCIDENTS_FOLDER, ret_catalogue, error);

	if (r >= 0 || r == -ENOMEM)
		return r;
	warn("%s; only the built-in patterns are used", error->text);
	return catalogue_new(NULL, ret_catalogue, error);
}

static int keep_snapshots(const struct invocation *invocation, struct snapshot_keeper **ret_keeper)
{
	const char *folder = option_value(invocation, "snapshot-dir");
	struct error error = { 0 };
	uint64_t max_bytes;
	bool there;
	int r;

	if (!folder || record_options_snapshot_max(invocation, &max_bytes) != EXIT_DONE)
		return 0;
	there = access(folder, F_OK) == 0;
	r = snapshot_keeper_start(store_path(invocation), folder, max_bytes, ret_keeper, &error);
	if (r == 1)
		warn("%s", error.text);
	/* Warns that the folder is new, because its name may be a typing error. */
	if (!there && access(folder, F_OK) == 0)
		say(invocation, "created the folder %s for snapshots", folder);
	return r;
}

/* Called in a separate thread. */
static void found_incident(void *context)
{
	const struct recording *recording = context;

	snapshot_keeper_found(recording->keeper);
}

/*
 * Runs before any event is opened, so that events that the user may open at the start can also be
 * opened for CPUs that come later. A new store belongs to the user; the folders above it stay
 * root's.
 */
static int become_user(const struct invocation *invocation, struct error *error)
{
	const char *user = option_value(invocation, "user"), *store = store_path(invocation);
	struct stat about;
	int r = 0;

	rights_settle();
	if (!user)
		return 0;
	/*
	 * Check the store first: a refusal must leave no empty folder, and must not suggest a chown
	 * of a folder that is not a store.
	 */
	r = store_check_folder(store, error);
	if (r == 0 && geteuid() == 0)
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

/*
 * Reports a failure before the recording begins. Whichever open() hit RLIMIT_NOFILE, the cause is
 * the total number of files, so the message names the limit that suffices for all of them.
 */
static int fail_open(int r, struct error *error)
{
	if (r == -EMFILE && !strstr(error->text, "RLIMIT_NOFILE"))
		perf_events_file_limit_error(sysconf(_SC_NPROCESSORS_ONLN), error);
	return fail(r, error);
}

/*
 * Refuses drastic limits on the command line. Drastic limits in the settings must not keep a
 * service from recording, so the old limits stay.
 */
static int settle_limits(const struct invocation *invocation, struct store_writer *writer,
			 struct store_limits *limits)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct store_limits noted;
	struct error error = { 0 };
	int r = 0;

	if (!option_given(invocation, "force"))
		r = limit_change_is_drastic(invocation, writer, limits, &noted, &error);
	if (r < 0)
		return fail(r, &error);
	if (r == 0)
		return EXIT_DONE;
	if (limit_change_is_typed(invocation))
		return usage_error("%s; give --force if you want that", error.text);
	*limits = noted;
	limits_describe(limits, &text);
	warn("%s; without --force the former limits stay: %.*s", error.text, (int)text.size,
	     text.data ? (const char *)text.data : "");
	return EXIT_DONE;
}

/* Gives the store to the group of --group. Later recordings keep the group. */
static int give_to_group(const struct invocation *invocation, struct error *error)
{
	const char *name = option_value(invocation, "group"), *store = store_path(invocation);
	const struct group *group;
	int r;

	if (!name)
		return 0;
	group = getgrnam(name);
	if (!group)
		return error_set(error, -ENOENT, "--group: there is no group '%s'", name);
	r = file_make_dirs(store, STORE_FOLDER_MODE);
	if (r < 0)
		return error_set(error, r, "%s: %s", store, strerror(-r));
	r = folder_rights_check(store, error);
	if (r == 0)
		r = folder_rights_set_group(store, group->gr_gid, error);
	if (r == 0)
		store_use_umask(invocation);
	return r;
}

static int record_into_store(struct recording *recording, struct recorder_options *settings)
{
	const struct invocation *invocation = recording->invocation;
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_recorder) struct recorder *recorder = NULL;
	_cleanup_(cleanup_snapshot_keeper) struct snapshot_keeper *keeper = NULL;
	struct recorder_progress progress = { 0 };
	struct error error = { 0 };
	int r;

	/* its helpers keep the rights that it has now */
	capabilities_raise();
	r = recorder_new(settings, &recorder, &error);
	if (r == 0)
		r = become_user(invocation, &error);
	/* the caller names the patterns and the store, and must have the right to open them */
	capabilities_lower();
	if (r == 0)
		r = load_patterns(invocation, &catalogue, &error);
	settings->catalogue = catalogue;
	settings->trust_users = option_given(invocation, "trust-user-kmsg");
	capabilities_raise();
	if (r == 0)
		r = recorder_open(recorder, &error);
	capabilities_lower();
	if (r == 0)
		r = give_to_group(invocation, &error);
	if (r == 0)
		r = store_writer_open(store_path(invocation), &writer, &error);
	if (r < 0)
		return fail_open(r, &error);
	if (store_writer_tightened(writer))
		say(invocation,
		    "%s: other users could read it; now only its owner and its group can",
		    store_path(invocation));
	if (store_writer_shortened(writer))
		say(invocation,
		    "%s: moved notes of more than 128 MB to notes.long; their end stays",
		    store_path(invocation));
	r = settle_limits(invocation, writer, &settings->limits);
	if (r != EXIT_DONE)
		return r;
	r = keep_snapshots(invocation, &keeper);
	if (r < 0)
		return fail(r, NULL);
	recording->keeper = keeper;
	if (recording->live)
		say(invocation, "recording into %s; Ctrl-C ends it", store_path(invocation));
	capabilities_raise();
	r = recorder_run(recorder, store_path(invocation), writer, &progress, &error);
	capabilities_lower();
	recording_stopping(recording);
	if (recording->live)
		progress_line_clear();
	report_recovered(&progress, false);
	progress.stopping = 1;
	report_removed(recording, &progress, false);
	report_warning(&progress, false);
	report_log_trouble(&progress, false);
	if (r < 0)
		r = fail(r, &error);
	record_print_summary(invocation, &progress);
	/*
	 * A hanging thread cannot be ended, and it still uses the memory that a return would free.
	 */
	if (progress.hung)
		_exit(r);
	return r;
}

static int record_run(const struct invocation *invocation)
{
	struct recorder_options settings = {
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

	store_limits_default(store_path(invocation), &settings.limits);
	r = record_options_parse(invocation, &settings, &trace);
	if (r != EXIT_DONE)
		return r;
	recording_init(&recording, invocation);
	settings.orders = recording_orders();
	settings.context = &recording;
	never_wait_for_readers();
	r = record_into_store(&recording, &settings);
	recording_done(&recording);
	return r;
}

const struct command command_record = {
	.name = "record",
	.summary = "Sample all CPUs into the store until stopped",
	.options = record_options,
	.run = record_run,
};
