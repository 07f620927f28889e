// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/audit.h"
#include "base/clock.h"
#include "cli/answer/audit-text.h"
#include "cli/options/command.h"
#include "base/watchdog-child.h"
#include "cli/answer/host-name.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/recorder-text.h"
#include "cli/answer/screen.h"
#include "cli/commands/self-report.h"

static const struct option options[] = {
	{ "duration", 0, "TIME",
	  "how long to watch the host (default: 5s; 0: look once, without rates)" },
	{ "root", 0, "DIR",
	  "look once at a copy of another host's /proc, /sys and /run below DIR" },
	{ "json", 0, NULL, "print one object of JSON" },
	{ "self", 0, NULL, "one page about this host and perftape, for a bug report" },
	{ 0 },
};

static const char about[] =
	"Watches the host for some seconds, reads the last 6 h of the store, and reports what is\n"
	"wrong: removed memory cgroups that the kernel keeps, units and containers that restart\n"
	"again and again, failed units, short memory, saturated CPUs, network queues that timed\n"
	"out, limits of sampling, a recorder that does not record. Each finding has numbers,\n"
	"commands that confirm it, and what to do. The audit needs no store, changes nothing and\n"
	"starts nothing.\n"
	"\n"
	"Exit code: 0 without findings, 5 with findings.\n";

struct audit {
	const struct invocation *invocation;
	/* The time at the start on the wall clock and on CLOCK_MONOTONIC. */
	uint64_t begin_ns, monotonic_ns;
	struct audit_options options;
	struct recorder_text status;
	struct progress_line progress;
	struct report report;
	/* The child process that does the work. */
	struct watchdog_child *child;
};

/*
 * Returns the wall clock at the start plus the time since. So a change of the clock does not change
 * the rates.
 */
static uint64_t now_ns(void *context)
{
	const struct audit *audit = context;

	return audit->begin_ns + clock_ns(CLOCK_MONOTONIC) - audit->monotonic_ns;
}

static void wait_ns(void *context, uint64_t ns)
{
	struct timespec left = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };

	(void)context;
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static int audit_parse(const struct invocation *invocation, struct audit_options *ret_options)
{
	const char *duration = option_value(invocation, "duration"),
		   *root = option_value(invocation, "root");
	struct stat about_root;

	*ret_options = (struct audit_options){
		.root = root ? root : "",
		.watch_ns = root ? 0 : AUDIT_WATCH_NS,
		.now_ns = now_ns,
		.wait = wait_ns,
	};
	if (root && (stat(root, &about_root) < 0 || !S_ISDIR(about_root.st_mode)))
		return option_error(invocation, "root", "%s is not a folder", root);
	if (duration && duration_parse(duration, &ret_options->watch_ns) < 0)
		return option_error(invocation, "duration", "'%s' is not a duration", duration);
	return EXIT_DONE;
}

/*
 * Reads the state of the recorder. Do not call it with --root, because the recorder of the other
 * host does not run here.
 */
static int read_recorder(struct audit *audit, struct error *error)
{
	struct audit_recorder *recorder = &audit->options.recorder;
	const struct recorder_progress *progress = &audit->status.progress;
	struct store_reader *reader = audit->options.reader;
	int pid = store_reader_recorder(reader, NULL);
	struct store_totals totals = { 0 };
	int r = recorder_text_read(reader, pid, &audit->status);

	if (r < 0)
		return r;
	r = store_reader_totals(reader, &totals, error);
	if (r < 0)
		return r;
	*recorder = (struct audit_recorder){
		.there = true,
		.store = option_typed(audit->invocation, "store") ? store_path(audit->invocation)
								  : NULL,
		.running = pid != 0,
		.reaches_ns = MAX(totals.end_ns, totals.unsealed_end_ns),
	};
	if (!audit->status.running)
		return 0;
	recorder->stalled_ns = clock_ns(CLOCK_REALTIME);
	recorder->stalled_ns -= MIN(recorder->stalled_ns, audit->status.reported_ns);
	recorder->frequency = progress->frequency;
	recorder->behind_ns = progress->spool_lag_ns;
	recorder->lost = progress->lost;
	recorder->samples = progress->samples;
	recorder->throttled = progress->throttled;
	recorder->elapsed_ns = progress->elapsed_ns;
	recorder->dying = progress->dying;
	recorder->naming = *progress->naming ? progress->naming : NULL;
	recorder->naming_ns = progress->naming_ns;
	recorder->blocked = progress->store_blocked ? progress->error.text : NULL;
	return 0;
}

/* Opens the store, if the host has one. The audit also works on a host that never recorded. */
static int open_store(struct audit *audit, struct store_reader **ret_reader)
{
	const struct invocation *invocation = audit->invocation;
	struct error error = { 0 };
	int r;

	/*
	 * The environment and the settings name the store of this host, not that of the host under
	 * --root.
	 */
	if (option_given(invocation, "root") && !option_typed(invocation, "store"))
		return EXIT_DONE;
	r = store_reader_open(store_path(invocation), ret_reader, &error);
	if (r == 0) {
		audit->options.reader = *ret_reader;
		if (option_given(invocation, "root"))
			say(invocation, "the last 6 h of %s count as those of %s",
			    store_path(invocation), audit->options.root);
		if (!option_given(invocation, "root"))
			r = read_recorder(audit, &error);
	}
	if (r < 0 && !*error.text)
		error_set(&error, r, "%s: %s", store_path(invocation), strerror(-r));
	/*
	 * A store on the command line must be readable. Without its data, the report would look
	 * healthy.
	 */
	if (r == -ENOMEM || (r < 0 && option_typed(invocation, "store")))
		return fail(r, &error);
	if (r < 0 && (r != -ENOENT || option_given(invocation, "store")))
		say(invocation, "the audit goes on without recorded data: %s", error.text);
	return EXIT_DONE;
}

static bool any_checked(const struct report *report)
{
	for (size_t i = 0; i < report->checks.count; i++)
		if (!report->checks.items[i].unread)
			return true;
	return false;
}

static int audit_print(struct audit *audit)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct terminal terminal;
	struct error error;
	int r = screen_read(audit->invocation, &terminal);

	if (r != EXIT_DONE)
		return r;
	host_name_live(audit->options.root, audit->report.host, sizeof(audit->report.host));
	if (option_given(audit->invocation, "json"))
		audit_put_json(&audit->report, &text);
	else
		audit_put_text(&audit->report, &terminal, &text);
	r = screen_print_drawing(&terminal, &text);
	if (r == EXIT_DONE && !any_checked(&audit->report) && !audit->report.findings.count) {
		error_set(&error, -ENOENT, "%s: cannot read any figure of a host there",
			  *audit->options.root ? audit->options.root : "/");
		return fail(-ENOENT, &error);
	}
	return r == EXIT_DONE && audit->report.findings.count ? EXIT_FINDINGS : r;
}

static int run_audit(struct audit *audit)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct error error = { 0 };
	char watch[32];
	int r = open_store(audit, &reader);

	if (r != EXIT_DONE)
		return r;
	if (audit->options.watch_ns)
		say(audit->invocation, "watching the host for %s",
		    duration_format(audit->options.watch_ns, watch, sizeof(watch)));
	audit->options.progress = progress_line_show;
	audit->options.progress_context = &audit->progress;
	progress_line_start(&audit->progress, "watching, then reading the store",
			    option_given(audit->invocation, "quiet"));
	r = audit_run(&audit->options, &audit->report, &error);
	progress_line_end(&audit->progress);
	return r < 0 ? fail(r, &error) : audit_print(audit);
}

static bool audit_enter(void *context, const char *what)
{
	return watchdog_child_enter(((struct audit *)context)->child, what);
}

static int audit_work(void *context, struct watchdog_child *child)
{
	struct audit *audit = context;
	int r;

	audit->child = child;
	audit->begin_ns = clock_ns(CLOCK_REALTIME);
	audit->monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	r = run_audit(audit);
	report_done(&audit->report);
	return r;
}

static void on_hang(void *context, const char *what)
{
	const struct audit *audit = context;

	say(audit->invocation, "reading %s hangs: starting again without it", what);
}

static int cmd_audit_run(const struct invocation *invocation)
{
	struct audit audit = { .invocation = invocation };
	const struct watchdog_child_work work = { .limit_ns = AUDIT_PATIENCE_S * NSEC_PER_SEC,
						  .work = audit_work,
						  .on_hang = on_hang,
						  .context = &audit };
	struct error error;
	int r;

	if (option_given(invocation, "self"))
		return option_given(invocation, "json") || option_given(invocation, "root") ||
				       option_given(invocation, "duration")
			       ? usage_error(
					 "--self takes neither --json nor --root nor --duration")
			       : self_report(invocation);
	r = audit_parse(invocation, &audit.options);

	audit.options.context = &audit;
	audit.options.enter = audit_enter;
	if (r == EXIT_DONE)
		r = watchdog_child_run(&work);
	if (r >= 0)
		return r;
	error_set(&error, r, "the audit failed: %s", strerror(-r));
	return fail(r, &error);
}

const struct command command_audit = {
	.name = "audit",
	.summary = "Report what is wrong with this host now, and how to confirm and fix it",
	.about = about,
	.options = options,
	.run = cmd_audit_run,
};
