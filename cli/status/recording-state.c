// SPDX-License-Identifier: GPL-2.0-only
#include "cli/status/recording-state.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/foreign.h"
#include "cli/status/failed-start.h"

#define COMMAND_LINE_BYTES 4096
/* The store of the service, and where its unit may be. */
#define SERVICE_STORE "/var/lib/perftape"
#define SERVICE_UNIT "perftape.service"

/*
 * Finds the command that a process of perftape runs: the first word that is not an option. Returns
 * false if the command is unknown or records.
 */
static bool recording_state_holder(int pid, char command[32])
{
	_cleanup_free_ char *line = NULL;
	char path[32], *at, *end;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	if (file_read(path, COMMAND_LINE_BYTES, &line, &size) < 0)
		return false;
	end = line + size;
	at = line + strlen(line) + 1;
	while (at < end && *at == '-')
		at += strlen(at) + 1;
	if (at >= end || !*at)
		return false;
	snprintf(command, 32, "%s", at);
	foreign_clean(command);
	return strcmp(command, "record") != 0;
}

enum recording_state recording_state_of(const struct store_status *status)
{
	const struct recorder_text *recorder = &status->recorder;
	char command[32];

	if (status->is_file)
		return RECORDING_SNAPSHOT;
	if (!status->pid)
		return RECORDING_NOT;
	if (recorder_text_is_stalled(recorder, status->now_ns))
		return RECORDING_STALLED;
	if (recorder->running)
		return recorder->progress.store_blocked ? RECORDING_BLOCKED : RECORDING_GOOD;
	return recording_state_holder(status->pid, command) ? RECORDING_HELD : RECORDING_GOOD;
}

const char *recording_state_name(enum recording_state state)
{
	static const char *const names[] = {
		[RECORDING_GOOD] = "recording",	    [RECORDING_STALLED] = "STALLED",
		[RECORDING_BLOCKED] = "NOT SAVING", [RECORDING_HELD] = "NOT RECORDING",
		[RECORDING_NOT] = "NOT RECORDING",  [RECORDING_SNAPSHOT] = "snapshot",
	};

	return names[state];
}

static bool recording_state_has_unit(const char *folder)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" SERVICE_UNIT, folder);
	return file_exists(path);
}

/* Names the command that starts a recorder for the store of the service. */
static void recording_state_hint(const char *store, struct buffer *text)
{
	static const char *const folders[] = { "/etc/systemd/system", "/usr/lib/systemd/system",
					       "/lib/systemd/system",
					       "/usr/local/lib/systemd/system" };
	bool installed = false;

	if (strcmp(store, SERVICE_STORE) != 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		installed |= recording_state_has_unit(folders[i]);
	if (!installed || !file_exists("/run/systemd/system"))
		buffer_text(text, "; no service is installed, start with: perftape record");
	else if (!recording_state_has_unit("/etc/systemd/system/multi-user.target.wants"))
		buffer_text(text,
			    "; the service is off, start with: systemctl enable --now perftape");
	else
		buffer_text(text, "; start with: systemctl start perftape");
}

static void recording_state_explain_not(const struct store_status *status, bool utc,
					struct buffer *text)
{
	const struct coverage_gap *last = store_status_last_gap(status);
	char shown[TIME_TEXT_SIZE], why[FAILED_START_BYTES];
	uint64_t failed_ns;

	if (last)
		buffer_printf(text, ", since %s", time_format(last->from_ns, utc, 0, shown));
	if (last && last->cause)
		buffer_printf(text, ": %s", last->why);
	if (failed_start_read(status->path, &failed_ns, why) && failed_ns > status->totals.end_ns)
		buffer_printf(text, "; the start at %s failed: %s",
			      time_format(failed_ns, utc, 0, shown), why);
	recording_state_hint(status->path, text);
}

void recording_state_explain(const struct store_status *status, bool utc, struct buffer *text)
{
	enum recording_state state = recording_state_of(status);
	char shown[TIME_TEXT_SIZE], command[32];

	if (state == RECORDING_NOT) {
		recording_state_explain_not(status, utc, text);
		return;
	}
	if (state == RECORDING_SNAPSHOT) {
		if (status->totals.end_ns)
			buffer_printf(text, ", ends %s",
				      time_format(status->totals.end_ns, utc, 0, shown));
		return;
	}
	if (state == RECORDING_HELD && recording_state_holder(status->pid, command)) {
		buffer_printf(text, ": process %d (%s) holds the store", status->pid, command);
		return;
	}
	buffer_printf(text, ", process %d", status->pid);
	if (status->since_ns)
		buffer_printf(text, ", since %s", time_format(status->since_ns, utc, 0, shown));
	if (state == RECORDING_BLOCKED)
		buffer_printf(text, ": %s; samples wait in memory",
			      status->recorder.progress.error.text);
}
