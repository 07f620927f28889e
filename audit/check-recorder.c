// SPDX-License-Identifier: GPL-2.0-only
/* Checks whether the recorder records. The check runs only on a host that has a store. */
#include <stdio.h>

#include "audit/checks.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/number.h"

#define NAME "recorder"
/* The recorder writes its status and its spool once per second. */
#define STALLED_NS (5 * NSEC_PER_SEC)
#define BEHIND_NS (10 * NSEC_PER_SEC)
#define NAMING_NS (10 * NSEC_PER_SEC)
#define LOST_SHARE 0.001
/* A smaller number of throttlings does not matter. */
#define THROTTLED_MIN 10
#define HOUR_NS (3600 * NSEC_PER_SEC)

static struct finding *check_recorder_find(const struct host *host, struct report *report,
					   enum severity severity, const char *title)
{
	struct finding *finding = report_find(report, "recorder", severity, "%s", title);
	const char *store = host->options->recorder.store;
	char word[FOREIGN_WORD_SIZE];

	if (finding)
		report_line(&finding->confirm, "perftape status%s%s", store ? " --store " : "",
			    store ? foreign_shell_word(store, word) : "");
	return finding;
}

static int check_stopped(const struct host *host, struct report *report)
{
	const struct audit_recorder *recorder = &host->options->recorder;
	char shown[TIME_TEXT_SIZE];
	struct finding *finding =
		check_recorder_find(host, report, SEVERITY_WARNING, "nothing is being recorded");
	bool booted = host_has(host, "/run/systemd/system");

	if (!finding)
		return -ENOMEM;
	if (recorder->reaches_ns)
		report_line(&finding->lines, "the stored samples end at %s",
			    time_format(recorder->reaches_ns, false, 0, shown));
	else
		report_line(&finding->lines, "the store is empty");
	report_i64(finding, "reaches_ns", recorder->reaches_ns);
	report_line(&finding->means,
		    "There is a store, but no recorder: the next incident will have no stacks.");
	if (booted && !recorder->store)
		report_line(&finding->confirm, "systemctl status perftape");
	/* write a command without a full stop, because people paste it */
	report_line(&finding->fix, "%s",
		    booted && !recorder->store ? "systemctl enable --now perftape"
					       : "perftape record");
	return 0;
}

static int check_stalled(const struct host *host, struct report *report)
{
	const struct audit_recorder *recorder = &host->options->recorder;
	struct finding *finding;
	char text[32];

	if (recorder->stalled_ns <= STALLED_NS)
		return 0;
	finding = check_recorder_find(host, report, SEVERITY_CRITICAL, "the recorder is stalled");
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines, "its last status is %s old; it writes one per second",
		    duration_format(recorder->stalled_ns, text, sizeof(text)));
	report_i64(finding, "stalled_ns", recorder->stalled_ns);
	report_line(&finding->means, "It is stopped, gets no CPU, or its disk hangs.");
	report_line(&finding->fix, "/proc/PID/stack of its threads shows what hangs.");
	return 0;
}

static int check_behind(const struct host *host, struct report *report)
{
	const struct audit_recorder *recorder = &host->options->recorder;
	struct finding *finding;
	char text[32];

	if (!recorder->blocked && recorder->behind_ns <= BEHIND_NS)
		return 0;
	finding = check_recorder_find(host, report, SEVERITY_WARNING,
				      "samples do not reach the disk");
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines, "the disk is %s behind; the limit is %d s",
		    duration_format(recorder->behind_ns, text, sizeof(text)),
		    (int)(BEHIND_NS / NSEC_PER_SEC));
	if (recorder->blocked)
		report_line(&finding->lines, "%s", recorder->blocked);
	report_i64(finding, "behind_ns", recorder->behind_ns);
	report_line(&finding->means, "Samples wait in memory, and are lost if the host crashes.");
	report_line(&finding->fix,
		    "Free some space on the store's disk, or move the store to another one.");
	return 0;
}

static int check_naming(const struct host *host, struct report *report)
{
	const struct audit_recorder *recorder = &host->options->recorder;
	struct finding *finding;
	char text[32];

	if (!recorder->naming || recorder->naming_ns <= NAMING_NS)
		return 0;
	finding = check_recorder_find(host, report, SEVERITY_WARNING,
				      "a file takes too long to name");
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines, "naming %s for %s", recorder->naming,
		    duration_format(recorder->naming_ns, text, sizeof(text)));
	report_i64(finding, "naming_ns", recorder->naming_ns);
	report_line(&finding->means,
		    "Segments wait for it. It is made to be slow, or its disk hangs.");
	report_line(&finding->fix,
		    "Restart the recorder. The next one stores that segment without names.");
	return 0;
}

static bool is_throttled(const struct audit_recorder *recorder)
{
	return recorder->throttled >= THROTTLED_MIN &&
	       recorder->throttled >= recorder->elapsed_ns / HOUR_NS;
}

static int check_lost(const struct host *host, struct report *report)
{
	const struct audit_recorder *recorder = &host->options->recorder;
	struct finding *finding;
	double share;

	if (!recorder->samples && !recorder->lost)
		return 0;
	share = (double)recorder->lost / (recorder->lost + recorder->samples);
	if (share < LOST_SHARE && !is_throttled(recorder))
		return 0;
	finding = check_recorder_find(host, report, SEVERITY_WARNING, "the kernel drops samples");
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines,
		    "since its start: %llu of %llu samples lost, throttled %llu time%s",
		    (unsigned long long)recorder->lost,
		    (unsigned long long)(recorder->lost + recorder->samples),
		    (unsigned long long)recorder->throttled, plural(recorder->throttled));
	report_i64(finding, "lost", recorder->lost);
	report_i64(finding, "samples", recorder->samples);
	report_i64(finding, "throttled", recorder->throttled);
	report_line(&finding->means,
		    "Rings were full before they were drained, or sampling took too long.");
	report_line(&finding->fix,
		    "Run perftape record with a larger --ring, or a lower frequency.");
	return 0;
}

int check_recorder(const struct host *host, struct report *report)
{
	static int (*const troubles[])(const struct host *host,
				       struct report *report) = { check_stalled, check_behind,
								  check_naming, check_lost };
	const struct audit_recorder *recorder = &host->options->recorder;
	int r = 0;

	if (!recorder->there)
		return report_unread(report, NAME, "%s",
				     host->options->reader ? "this is a copy of a host"
							   : "no store can be read");
	if (!recorder->running) {
		r = check_stopped(host, report);
		return r < 0 ? r : report_checked(report, NAME, "not running");
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(troubles); i++)
		r = troubles[i](host, report);
	return r < 0 ? r : report_checked(report, NAME, "running");
}
