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
#include "cli/options/command.h"
#include "cli/options/limit-options.h"
#include "cli/answer/host-name.h"
#include "cli/answer/limit-change.h"
#include "cli/answer/progress-line.h"
#include "cli/service/metrics-file.h"
#include "cli/commands/forecast.h"
#include "cli/commands/record-options.h"
#include "cli/commands/record-report.h"
#include "cli/commands/recording.h"
#include "cli/service/snapshot-keeper.h"
#include "cli/status/failed-start.h"
#include "cli/version.h"
#include "recorder/perf/perf-events.h"
#include "recorder/run/recorder.h"
#include "recorder/run/rights.h"
#include "store/write/folder-rights.h"
#include "store/disk/files.h"

/*
 * Opens standard error without blocking. The thread that drains the ring buffers also prints
 * messages, and a terminal that is stopped, or behind a lost network, must not block it. So
 * messages that do not fit are dropped. Opens a new description, because O_NONBLOCK would affect
 * the shell that shares the old one.
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

static void record_show_progress(void *context, const struct recorder_progress *progress)
{
	struct recording *recording = context;

	record_report_news(recording, progress);
	if (recording->live)
		record_report_line(progress);
	recording_report(recording, progress);
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
	struct snapshot_keeper_options options = {
		.store = store_path(invocation),
		.folder = folder,
		.since_ns = clock_ns(CLOCK_REALTIME) - SNAPSHOT_KEEPER_BACK_NS,
		.limit_option = "snapshot-max",
	};
	struct error error = { 0 };
	bool there;
	int r;

	if (!folder || record_options_snapshot_max(invocation, &options.max_bytes) != EXIT_DONE)
		return 0;
	there = access(folder, F_OK) == 0;
	r = snapshot_keeper_start(&options, ret_keeper, &error);
	if (r == 1)
		warn("%s", error.text);
	/* tell that the folder is new, because its name may be a typing error */
	if (!there && access(folder, F_OK) == 0)
		say(invocation, "created the folder %s for snapshots", folder);
	return r;
}

/* Starts the metrics file. A file that cannot be written must not prevent a recording. */
static int keep_metrics(const struct invocation *invocation, struct metrics_file **ret_file)
{
	const char *path = option_value(invocation, "metrics-file");
	struct error error = { 0 };
	int r;

	if (!path)
		return 0;
	r = metrics_file_start(store_path(invocation), path, ret_file, &error);
	return r < 0 ? fail(r, &error) : 0;
}

/* The recorder calls this in a separate thread. */
static void found_incident(void *context)
{
	const struct recording *recording = context;

	snapshot_keeper_found(recording->keeper);
	metrics_file_found(recording->metrics);
}

/* Returns 1 with the group of --group, 0 without that option, or -ENOENT. */
static int find_group(const struct invocation *invocation, gid_t *ret_group, struct error *error)
{
	const char *name = option_value(invocation, "group");
	const struct group *group = name ? getgrnam(name) : NULL;

	if (name && !group)
		return error_set(error, -ENOENT, "--group: there is no group '%s'", name);
	if (group)
		*ret_group = group->gr_gid;
	return group != NULL;
}

/* Gives the store to the group of --group. Later recordings keep the group. */
static int give_to_group(const struct invocation *invocation, struct error *error)
{
	const char *store = store_path(invocation);
	gid_t group = 0;
	int r = find_group(invocation, &group, error);

	if (r <= 0)
		return r;
	r = file_make_dirs(store, STORE_FOLDER_MODE);
	if (r < 0)
		return error_set(error, r, "%s: %s", store, strerror(-r));
	r = folder_rights_check(store, error);
	if (r < 0)
		return r;
	r = folder_rights_set_group(store, group, error);
	if (r < 0)
		return r;
	store_use_umask(invocation);
	return 0;
}

/* Makes a store for the user. Only root can give it to a group that the user is not in. */
static int make_users_folder(const struct invocation *invocation, const char *user,
			     const char *store, struct error *error)
{
	gid_t group = 0;
	int given = find_group(invocation, &group, error), r = MIN(given, 0);

	if (r < 0)
		return r;
	r = rights_make_folder(user, store, error);
	return r == 0 && given ? folder_rights_set_group(store, group, error) : r;
}

/*
 * Changes to the user of --user. Runs before recorder_open() opens any event. So events that the
 * user may open at the start can also be opened for CPUs that come later. A new store belongs to
 * the user; the folders above it stay root's.
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
	 * check the store first: a refusal must not leave an empty folder, and must not suggest a
	 * chown of a folder that is not a store
	 */
	r = store_check_folder(store, error);
	if (r < 0)
		return r;
	if (geteuid() == 0)
		r = rights_may_reach(user, store, error);
	if (r < 0)
		return r;
	if (geteuid() == 0 && stat(store, &about) < 0)
		r = make_users_folder(invocation, user, store, error);
	if (r < 0)
		return r;
	r = rights_become(user, error);
	if (r < 0)
		return r;
	if (access(store, W_OK) < 0 && errno == EACCES)
		return error_set(
			error, -EACCES,
			"%s may not write to %s; run chown -R %s on it, or choose another --store",
			user, store, user);
	return 0;
}

/*
 * Reports a failure before the recording begins. The cause of RLIMIT_NOFILE is the total number of
 * files, whichever open() failed. So the message names the limit that suffices for all files.
 */
static int fail_open(const struct invocation *invocation, int r, struct error *error)
{
	if (r == -EMFILE && !strstr(error->text, "RLIMIT_NOFILE"))
		perf_events_file_limit_error(sysconf(_SC_NPROCESSORS_ONLN), error);
	failed_start_write(store_path(invocation), *error->text ? error->text : strerror(-r));
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

static int record_into_store(struct recording *recording, struct recorder_options *settings)
{
	const struct invocation *invocation = recording->invocation;
	/*
	 * freed last, after the writer released the store, so that the last text says that no
	 * recorder runs
	 */
	_cleanup_(cleanup_metrics_file) struct metrics_file *metrics = NULL;
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_recorder) struct recorder *recorder = NULL;
	_cleanup_(cleanup_snapshot_keeper) struct snapshot_keeper *keeper = NULL;
	struct recorder_progress progress = { 0 };
	char host[HOST_NAME_SIZE];
	struct error error = { 0 };
	int r;

	/* the recorder's helpers keep the rights that this process has now */
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
	if (r < 0)
		return fail_open(invocation, r, &error);
	r = give_to_group(invocation, &error);
	if (r < 0)
		return fail_open(invocation, r, &error);
	r = store_writer_open(store_path(invocation), &writer, &error);
	if (r < 0)
		return fail_open(invocation, r, &error);
	if (store_writer_tightened(writer))
		say(invocation,
		    "%s: other users could read it; now only its owner and a group of --group can",
		    store_path(invocation));
	if (store_writer_shortened(writer))
		say(invocation,
		    "%s: moved notes of more than 128 MB to notes.long, and kept their end",
		    store_path(invocation));
	r = settle_limits(invocation, writer, &settings->limits);
	if (r != EXIT_DONE)
		return r;
	r = keep_snapshots(invocation, &keeper);
	if (r < 0)
		return fail(r, NULL);
	recording->keeper = keeper;
	r = keep_metrics(invocation, &metrics);
	if (r != EXIT_DONE)
		return r;
	recording->metrics = metrics;
	if (recording->live)
		say(invocation, "%srecording into %s; Ctrl-C ends it", host_name_own_prefix(host),
		    store_path(invocation));
	capabilities_raise();
	r = recorder_run(recorder, store_path(invocation), writer, &progress, &error);
	capabilities_lower();
	recording_stopping(recording);
	if (recording->live)
		progress_line_clear();
	record_report_end(recording, &progress);
	if (r < 0)
		r = fail(r, &error);
	record_report_summary(invocation, &progress);
	/*
	 * we cannot end a thread that hangs, and it still uses the memory that a return would free
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
	if (option_given(invocation, "forecast"))
		return forecast_run(invocation, &settings, &settings.limits);
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
