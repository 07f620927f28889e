// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/options/command.h"
#include "cli/incidents/incidents-list.h"
#include "cli/incidents/incidents-scan.h"
#include "cli/window/window-options.h"

static const struct option options[] = {
	{ "at", 0, "TIME", "those of the store around a moment" },
	{ "before", 0, "LENGTH", "how much before it (default: 30s)" },
	{ "after", 0, "LENGTH", "how much after it (default: 5s)" },
	{ "from", 0, "TIME", "or: the start of the window" },
	{ "to", 0, "TIME", "and its end (default: now)" },
	{ "since", 0, "TIME", "the same as --from" },
	{ "until", 0, "TIME", "the same as --to" },
	{ "boot", 0, "ID", "of [uptime] times (default: the latest boot in the store)" },
	{ "kind", 0, "KIND", "only those of a kind, or of several: ena_reset, oom" },
	{ "all", 0, NULL, "a row for each, and not for what belongs together" },
	{ "add", 0, NULL, "of scan: put into the store what it does not know" },
	{ "json", 0, NULL, "one line of JSON for each incident, and one for what was read" },
	{ "boot-time", 0, "TIME", "when the host was booted, for logs that say only the uptime" },
	{ "trust-user-kmsg", 0, NULL, "believe lines that users wrote into the kernel's log" },
	{ "patterns", 0, "DIR", "where own patterns are (default: /etc/perftape/incidents.d)" },
	{ 0 },
};

static const char about[] =
	"Without a word: those that the store knows of, all of them or those of a window.\n"
	"\n"
	"incidents scan FILE reads any log, \"-\" is standard input: dmesg, journalctl, syslog, CloudWatch,\n"
	"Loki, netconsole, container logs and pastes of them, gzipped or packed with xz or zstd.\n"
	"What belongs together is one line of the table; --json has each line of the log.\n"
	"\n"
	"With a store, its times are held against what was recorded: the kernel's stamps are those of the\n"
	"samples. The first column is what --incident takes.\n"
	"\n"
	"Times that say no zone are in the local one, with --utc in UTC.\n";

static int incidents_run(const struct invocation *invocation)
{
	if (!invocation->word_count)
		return option_given(invocation, "add")
			       ? usage_error("--add what? perftape incidents scan --add FILE")
			       : incidents_list(invocation);
	if (strcmp(invocation->words[0], "scan") != 0)
		return usage_error("incidents knows no '%.60s': perftape incidents [scan FILE]",
				   invocation->words[0]);
	if (invocation->word_count == 1)
		return usage_error(
			"which log? perftape incidents scan FILE, or - for standard input");
	if (invocation->word_count > 2)
		return usage_error("one log at a time: cat several into perftape incidents scan -");
	if (window_given(invocation))
		return usage_error("a window is of the store; scan reads all of its log");
	return incidents_scan(invocation, invocation->words[1]);
}

const struct command command_incidents = {
	.name = "incidents",
	.arguments = "[scan FILE]",
	.summary = "List what the kernel complained about, or find it in any log",
	.about = about,
	.options = options,
	.run = incidents_run,
};
