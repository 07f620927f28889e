// SPDX-License-Identifier: GPL-2.0-only
#include "audit/audit.h"

#include "audit/checks.h"
#include "audit/history.h"

static int (*const checks[])(const struct host *host, struct report *report) = {
	check_memory_cgroups,
	check_units,
	check_containers,
	check_reclaim,
	check_pressure,
	check_cores,
	check_queues,
	check_sampling,
	check_recorder,
};

/* A store that cannot be read costs the history, not the audit. */
static int add_history(struct host *host, struct report *report)
{
	struct error error = { 0 };
	int r;

	if (!host->options->reader)
		return 0;
	r = history_read(host, &error);
	if (r < 0 && r != -ENOMEM)
		r = report_unread(report, "history", "%s", *error.text ? error.text : strerror(-r));
	return r;
}

int audit_run(const struct audit_options *options, struct report *report, struct error *error)
{
	struct host host = { .root = "" };
	int r;

	report->now_ns = options->now_ns(options->context);
	r = host_watch(options, &host);
	if (r == 0)
		r = add_history(&host, report);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(checks); i++)
		r = checks[i](&host, report);
	report->watched_ns = host.watched_ns;
	report->recorded_from_ns = host.recorded_from_ns;
	report->recorded_to_ns = host.recorded_to_ns;
	host_done(&host);
	return r < 0 ? error_set(error, r, "the audit failed: %s", strerror(-r))
		     : report_finish(report);
}
