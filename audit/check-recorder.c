// SPDX-License-Identifier: GPL-2.0-only
/* Is what should be recording recording? Only where there is a store to record into. */
#include <stdio.h>

#include "audit/checks.h"
#include "base/clock.h"

#define NAME "recorder"
/* It tells of itself, and writes, once a second. */
#define STALLED_NS (5 * NSEC_PER_SEC)
#define BEHIND_NS (10 * NSEC_PER_SEC)
#define LOST_SHARE 0.001
/* Single times are hiccups. */
#define THROTTLED_MIN 10
#define HOUR_NS (3600 * NSEC_PER_SEC)

static struct finding *check_recorder_find(const struct host *host, struct report *report,
					   enum severity severity, const char *title)
{
	struct finding *finding = report_find(report, "recorder", severity, "%s", title);
	const char *store = host->options->recorder.store;
	char word[SHELL_WORD_SIZE];

	if (finding)
		report_line(&finding->confirm, "perftape status%s%s", store ? " --store " : "",
			    store ? shell_word(store, word) : "");
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
		report_line(&finding->lines, "what is stored ends at %s",
			    time_format(recorder->reaches_ns, false, 0, shown));
	else
		report_line(&finding->lines, "the store is empty");
	report_i64(finding, "reaches_ns", recorder->reaches_ns);
	report_line(&finding->means,
		    "There is a store, and no recorder: the next incident will have no stacks.");
	if (booted && !recorder->store)
		report_line(&finding->confirm, "systemctl status perftape");
	report_line(&finding->fix, "%sperftape record.",
		    booted && !recorder->store ? "systemctl enable --now perftape, or " : "");
	return 0;
}

static int check_stalled(const struct host *host, struct report *report)
{
	const struct audit_recorder *recorder = &host->options->recorder;
	struct finding *finding;
	char text[32];

	if (recorder->silent_ns <= STALLED_NS)
		return 0;
	finding = check_recorder_find(host, report, SEVERITY_CRITICAL,
				      "the recorder has fallen silent");
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines,
		    "it has told nothing of itself for %s; it does so once a second",
		    duration_format(recorder->silent_ns, text, sizeof(text)));
	report_i64(finding, "stalled_ns", recorder->silent_ns);
	report_line(&finding->means, "It is stopped, gets no CPU, or its disk hangs.");
	report_line(&finding->fix, "What hangs shows in /proc/PID/stack of its threads.");
	return 0;
}

static int check_behind(const struct host *host, struct report *report)
{
	const struct audit_recorder *recorder = &host->options->recorder;
	struct finding *finding;
	char text[32];

	if (!recorder->stalled && recorder->behind_ns <= BEHIND_NS)
		return 0;
	finding = check_recorder_find(host, report, SEVERITY_WARNING,
				      "what is recorded does not get to the disk");
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines, "the disk is %s behind; from %d s on it is a finding",
		    duration_format(recorder->behind_ns, text, sizeof(text)),
		    (int)(BEHIND_NS / NSEC_PER_SEC));
	if (recorder->stalled)
		report_line(&finding->lines, "%s", recorder->stalled);
	report_i64(finding, "behind_ns", recorder->behind_ns);
	report_line(&finding->means, "It waits in memory, and would be lost if the host crashed.");
	report_line(&finding->fix,
		    "Make room on the store's disk, or move the store to another one.");
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
	finding = check_recorder_find(host, report, SEVERITY_WARNING,
				      "the kernel keeps samples from the recorder");
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines,
		    "%llu of %llu samples lost, throttled %llu times, since it runs",
		    (unsigned long long)recorder->lost,
		    (unsigned long long)(recorder->lost + recorder->samples),
		    (unsigned long long)recorder->throttled);
	report_i64(finding, "lost", recorder->lost);
	report_i64(finding, "samples", recorder->samples);
	report_i64(finding, "throttled", recorder->throttled);
	report_line(&finding->means,
		    "Rings were full before they were drained, or sampling took too long.");
	report_line(&finding->fix,
		    "perftape record --ring with more memory, or a lower frequency.");
	return 0;
}

int check_recorder(const struct host *host, struct report *report)
{
	static int (*const troubles[])(const struct host *host,
				       struct report *report) = { check_stalled, check_behind,
								  check_lost };
	const struct audit_recorder *recorder = &host->options->recorder;
	int r = 0;

	if (!recorder->there)
		return report_unread(report, NAME, "%s",
				     host->options->reader ? "this is a copy of a host"
							   : "there is no store");
	if (!recorder->running) {
		r = check_stopped(host, report);
		return r < 0 ? r : report_checked(report, NAME, "not running");
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(troubles); i++)
		r = troubles[i](host, report);
	return r < 0 ? r : report_checked(report, NAME, "running");
}
