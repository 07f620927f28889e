// SPDX-License-Identifier: GPL-2.0-only
#include "audit/audit.h"

#include "audit/checks.h"
#include "audit/history.h"
#include "base/json.h"

static const struct {
	const char *name;
	int (*check)(const struct host *host, struct report *report);
} checks[] = {
	{ "memory cgroups", check_memory_cgroups },
	{ "units", check_units },
	{ "containers", check_containers },
	{ "crashes", check_crashes },
	{ "reclaim", check_reclaim },
	{ "pressure", check_pressure },
	{ "cores", check_cores },
	{ "network queues", check_queues },
	{ "sampling limits", check_sampling },
	{ "recorder", check_recorder },
};

/* If the store cannot be read, the audit goes on without a history. */
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

static int audit_check(struct host *host, size_t i, struct report *report)
{
	int r;

	if (!host_enter(host, checks[i].name))
		return 0;
	r = checks[i].check(host, report);
	host_leave(host);
	return r;
}

static void put_hung(const struct host *host, struct finding *finding, struct buffer *list)
{
	json_key(&finding->numbers, "reads");
	json_open(&finding->numbers, '[');
	for (uint32_t id = 1; id < strings_count(&host->hung); id++) {
		const char *what = strings_at(&host->hung, id);

		report_line(&finding->lines, "%s: no answer within %d s", what, AUDIT_PATIENCE_S);
		json_string(&finding->numbers, what);
		buffer_printf(list, "%s%s", id > 1 ? ", " : "", what);
	}
	json_close(&finding->numbers, ']');
	buffer_u8(list, 0);
}

/* A read that hangs is a finding, not only a check that was not done. */
static int audit_report_hung(const struct host *host, struct report *report)
{
	_cleanup_(buffer_done) struct buffer list = { 0 };
	struct finding *finding;

	if (strings_count(&host->hung) <= 1)
		return 0;
	finding = report_find(report, "hanging_reads", SEVERITY_CRITICAL, "a read of %s hangs",
			      strings_at(&host->hung, 1));
	if (!finding)
		return -ENOMEM;
	put_hung(host, finding, &list);
	report_sentence(&finding->means, "The kernel or a file system blocks this read.");
	report_sentence(&finding->means, "Agents that read the same file wait, too.");
	report_line(&finding->confirm, "ps -eo pid,stat,wchan:32,etime,comm | awk '$2 ~ /D/'");
	report_line(&finding->confirm, "dmesg -T | grep -A20 'blocked for more than'");
	report_sentence(&finding->fix,
			"/proc/PID/stack of a waiting process shows the lock or the file system.");
	report_sentence(&finding->fix, "Each new reader waits as well.");
	return buffer_failed(&list) ? -ENOMEM
				    : report_unread(report, "what hangs", "%s", (char *)list.data);
}

int audit_run(const struct audit_options *options, struct report *report, struct error *error)
{
	_cleanup_(host_done) struct host host = { .root = "" };
	int r;

	report->now_ns = options->now_ns(options->context);
	r = host_watch(options, &host);
	if (r == 0)
		r = add_history(&host, report);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(checks); i++)
		r = audit_check(&host, i, report);
	if (r == 0)
		r = audit_report_hung(&host, report);
	report->watched_ns = host.watched_ns;
	report->recorded_from_ns = host.recorded_from_ns;
	report->recorded_to_ns = host.recorded_to_ns;
	return r < 0 ? error_set(error, r, "the audit failed: %s", strerror(-r))
		     : report_finish(report);
}
