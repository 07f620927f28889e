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
#include "cli/answer/progress-line.h"
#include "cli/answer/recorder-text.h"
#include "cli/answer/screen.h"

static const struct option options[] = {
	{ "duration", 0, "TIME",
	  "watch the host for so long (default: 5s; 0: one look, no rates)" },
	{ "root", 0, "DIR",
	  "look at a copy of another host's /proc, /sys and /run below DIR, once" },
	{ "json", 0, NULL, "print one object of JSON" },
	{ 0 },
};

static const char about[] =
	"Watches the host for some seconds, looks at what was recorded of it in the last 6 h, and\n"
	"says what is wrong: memory cgroups that were removed and are not gone, units and\n"
	"containers that start again and again, units that failed, memory that is short, single\n"
	"cores that are saturated, network queues that timed out, limits of sampling, a recorder\n"
	"that does not record. Each with the numbers, stock commands that confirm it, and what\n"
	"to do. It works without a store, changes nothing and starts nothing.\n"
	"\n"
	"Exit code: 0 nothing was found, 5 something was.\n";

struct audit {
	const struct invocation *invocation;
	/* both clocks, when it began */
	uint64_t begin_ns, monotonic_ns;
	struct audit_options options;
	struct recorder_text status;
	struct progress_line progress;
	struct report report;
	/* in the process that does it */
	struct watchdog_child *child;
};

/* The wall clock as it was when it began, and as long as it is since: one that is set meanwhile
 * changes no rate. */
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

/* Another host's recorder is not this one's. */
static int read_recorder(struct audit *audit, struct error *error)
{
	struct audit_recorder *recorder = &audit->options.recorder;
	const struct recorder_progress *progress = &audit->status.progress;
	struct store_reader *reader = audit->options.reader;
	int pid = store_reader_recorder(reader, NULL);
	struct store_totals totals = { 0 };
	int r = recorder_text_read(reader, pid, &audit->status);

	if (r == 0)
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
	recorder->silent_ns = clock_ns(CLOCK_REALTIME);
	recorder->silent_ns -= MIN(recorder->silent_ns, audit->status.told_ns);
	recorder->frequency = progress->frequency;
	recorder->behind_ns = progress->spool_lag_ns;
	recorder->lost = progress->lost;
	recorder->samples = progress->samples;
	recorder->throttled = progress->throttled;
	recorder->elapsed_ns = progress->elapsed_ns;
	recorder->dying = progress->dying;
	recorder->stalled = progress->store_blocked ? progress->error.text : NULL;
	return 0;
}

/* A host that never recorded can be audited too. */
static int open_store(struct audit *audit, struct store_reader **ret_reader)
{
	const struct invocation *invocation = audit->invocation;
	struct error error = { 0 };
	int r;

	/* the environment's store, and that of the settings, are this host's */
	if (option_given(invocation, "root") && !option_typed(invocation, "store"))
		return EXIT_DONE;
	r = store_reader_open(store_path(invocation), ret_reader, &error);
	if (r == 0) {
		audit->options.reader = *ret_reader;
		if (option_given(invocation, "root"))
			say(invocation, "what %s has of the last 6 h is taken for that of %s",
			    store_path(invocation), audit->options.root);
		if (!option_given(invocation, "root"))
			r = read_recorder(audit, &error);
	}
	if (r < 0 && !*error.text)
		error_set(&error, r, "%s: %s", store_path(invocation), strerror(-r));
	/* who names a store wants it looked at: without it, nothing would be well */
	if (r == -ENOMEM || (r < 0 && option_typed(invocation, "store")))
		return fail(r, &error);
	if (r < 0 && (r != -ENOENT || option_given(invocation, "store")))
		say(invocation, "without what was recorded: %s", error.text);
	return EXIT_DONE;
}

static bool any_checked(const struct report *report)
{
	for (size_t i = 0; i < report->checks.count; i++)
		if (!report->checks.items[i].unread)
			return true;
	return false;
}

static int audit_print(const struct audit *audit)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct terminal terminal;
	struct error error;
	int r = screen_read(audit->invocation, &terminal);

	if (r != EXIT_DONE)
		return r;
	if (option_given(audit->invocation, "json"))
		audit_put_json(&audit->report, &text);
	else
		audit_put_text(&audit->report, &terminal, &text);
	r = screen_print(&text);
	if (r == EXIT_DONE && !any_checked(&audit->report) && !audit->report.findings.count) {
		error_set(&error, -ENOENT, "%s: nothing of a host could be looked at there",
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
	progress_line_start(&audit->progress, "watching, then reading what was recorded",
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

	say(audit->invocation, "reading %s does not come back: beginning anew without", what);
}

static int audit_run_here(const struct invocation *invocation)
{
	struct audit audit = { .invocation = invocation };
	const struct watchdog_child_work work = { .limit_ns = AUDIT_PATIENCE_S * NSEC_PER_SEC,
						  .work = audit_work,
						  .on_hang = on_hang,
						  .context = &audit };
	struct error error;
	int r = audit_parse(invocation, &audit.options);

	audit.options.context = &audit;
	audit.options.enter = audit_enter;
	if (r == EXIT_DONE)
		r = watchdog_child_run(&work);
	if (r >= 0)
		return r;
	error_set(&error, r, "the audit could not be done: %s", strerror(-r));
	return fail(r, &error);
}

const struct command command_audit = {
	.name = "audit",
	.summary = "Say what is wrong with this host now, and how to confirm and mend it",
	.about = about,
	.options = options,
	.run = audit_run_here,
};
