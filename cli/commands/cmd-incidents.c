// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/fleet/fleet-answer.h"
#include "cli/fleet/fleet-incidents.h"
#include "cli/options/command.h"
#include "cli/incidents/incidents-list.h"
#include "cli/incidents/incidents-scan.h"
#include "cli/service/follow.h"
#include "base/number.h"
#include "cli/window/window-options.h"
#include "recorder/run/rights.h"

static const struct option options[] = {
	{ "at", 0, "TIME", "incidents of the store around a moment" },
	{ "before", 0, "LENGTH", "length before the moment (default: 30s)" },
	{ "after", 0, "LENGTH", "length after the moment (default: 5s)" },
	{ "from", 0, "TIME", "or: start of the window" },
	{ "to", 0, "TIME", "end of the window (default: now)" },
	{ "since", 0, "TIME", "the same as --from" },
	{ "until", 0, "TIME", "the same as --to" },
	{ "boot", 0, "ID", "boot of [uptime] times (default: the latest in the store)" },
	{ "incident", 0, "ID", "only this one: a number, last, or KIND[:N]" },
	{ "kind", 0, "KIND", "only these kinds, such as ena_reset or oom" },
	{ "all", 0, NULL, "a row for each incident, not for each episode" },
	{ "follow", 0, NULL, "print new incidents as they come, until Ctrl-C" },
	{ "leave", 0, "DIR", "with --follow: leave a .tape and a text of each in this folder" },
	{ "max-size", 0, "SIZE", "size of all files in that folder (default: 1G)" },
	{ "add", 0, NULL, "with scan: add new incidents to the store" },
	{ "json", 0, NULL, "print JSON: a line for each incident, and one for the log" },
	{ "boot-time", 0, "TIME", "time of the boot, for logs that contain only uptimes" },
	{ "trust-user-kmsg", 0, NULL, "trust lines that users wrote into the kernel's log" },
	{ "patterns", 0, "DIR", "folder of own patterns (default: /etc/perftape/incidents.d)" },
	FLEET_URL_OPTIONS,
	FLEET_LABEL_OPTION,
	{ 0 },
};

static const char about[] =
	"Without \"scan\", lists the incidents of the store, or those of a window.\n"
	"\n"
	"\"incidents scan FILE\" reads any log: dmesg, journalctl, syslog, CloudWatch, Loki,\n"
	"netconsole, container logs and pastes of them, also packed with gzip, xz or zstd. The\n"
	"FILE \"-\" is standard input. Lines of one episode are one row; --json prints each line.\n"
	"\n"
	"With a store, the times are those of the samples, which use the clock of the kernel's\n"
	"stamps. --incident takes a number of the first column. A number never changes. Some\n"
	"are missing: each line of an episode has one, and a recorder reserves eight at once.\n"
	"\n"
	"With --fleet, counts the incidents of all hosts by label, by default of the last 7\n"
	"days, and names the label that separates hosts with incidents best. Incidents of one\n"
	"host count as one if they are at most 30 s apart.\n"
	"\n"
	"Times without a zone are local, or UTC with --utc.\n";

/* Scans a log. Only --add writes into the store, so root works as the store's owner only then. */
static int incidents_scan_as_owner(const struct invocation *invocation, const char *log)
{
	struct error error = { 0 };
	int r = 0;

	if (option_given(invocation, "add"))
		r = rights_become_owner(store_path(invocation), &error);
	return r < 0 ? fail(r, &error) : incidents_scan(invocation, log);
}

/* Refuses options that have no effect together. Returns an exit code. */
static int check_follow(const struct invocation *invocation)
{
	static const char *const others[] = { "incident", "add", "boot-time", "trust-user-kmsg",
					      "patterns" };
	bool follow = option_given(invocation, "follow");

	if (!follow && option_typed(invocation, "leave"))
		return usage_error("--leave goes with --follow");
	if (!option_given(invocation, "leave") && option_typed(invocation, "max-size"))
		return usage_error("--max-size goes with --leave");
	if (!follow)
		return EXIT_DONE;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (option_given(invocation, others[i]))
			return usage_error("--follow and --%s exclude each other; give one",
					   others[i]);
	if (invocation->word_count || window_given(invocation))
		return usage_error("--follow waits for new incidents; give no window and no log");
	return EXIT_DONE;
}

static int incidents_run(const struct invocation *invocation)
{
	int r;

	if (option_given(invocation, "fleet"))
		return fleet_incidents(invocation);
	r = fleet_answer_refuse(invocation);
	if (r == EXIT_DONE)
		r = check_follow(invocation);
	if (r != EXIT_DONE)
		return r;
	if (option_given(invocation, "follow"))
		return follow_incidents(invocation);
	if (!invocation->word_count)
		return option_given(invocation, "add")
			       ? usage_error(
					 "--add needs a log: perftape incidents scan --add FILE")
			       : incidents_list(invocation);
	if (strcmp(invocation->words[0], "scan") != 0)
		return usage_error(
			"incidents: unknown word '%.60s'; use perftape incidents [scan FILE]",
			invocation->words[0]);
	if (invocation->word_count == 1)
		return usage_error(
			"scan needs a log: perftape incidents scan FILE, or - for standard input");
	if (invocation->word_count > 2)
		return usage_error(
			"scan takes one log; cat several into perftape incidents scan -");
	if (window_given(invocation))
		return usage_error("scan reads the whole log; a window goes without scan");
	return incidents_scan_as_owner(invocation, invocation->words[1]);
}

const struct command command_incidents = {
	.name = "incidents",
	.arguments = "[scan FILE]",
	.summary = "List what the kernel complained about, or find it in any log",
	.about = about,
	.options = options,
	.run = incidents_run,
};
