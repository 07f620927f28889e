// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pressure stall information. A finding needs pressure above the limit both in the last minute and
 * during the watch. So the start of a build is not a finding. The kernel's documentation uses
 * limits of 15 % of "some" memory stall and 5 % of "full". The other limits are ours. CPU pressure
 * is normal on a fully used host.
 */
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "base/number.h"

#define NAME "pressure"
#define TEXT_MAX 4096

static const struct limit {
	const char *resource;
	bool full;
	double percent;
	enum severity severity;
	const char *means, *fix;
} limits[] = {
	{ "memory", true, 5, SEVERITY_CRITICAL,
	  "For this share of the time, all tasks waited for reclaim, swap or dropped pages.",
	  "Free memory: end or limit the process that uses it." },
	{ "memory", false, 15, SEVERITY_WARNING,
	  "For this share of the time, a task waited for reclaim, swap or dropped pages.",
	  "Free memory: end or limit the process that uses it." },
	{ "io", true, 30, SEVERITY_WARNING,
	  "For this share of the time, all tasks waited for a disk.",
	  "iotop or pidstat -d shows the process; iostat's await shows a slow disk." },
	{ "irq", true, 10, SEVERITY_WARNING,
	  "For this share of the time, interrupts kept tasks from their CPU.",
	  "/proc/interrupts shows the busy CPU; /proc/irq/N/smp_affinity moves interrupts." },
};

/*
 * Reads the average of the last minute (avg60) from "full avg10=0.00 avg60=1.25 avg300=0.00
 * total=1234".
 */
static bool read_minute(const struct host *host, const struct limit *limit, double *ret_percent)
{
	struct source_file file;
	struct words text, line, word;
	char path[64];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/pressure/%s", limit->resource);
	source_file_init(&file, host->root, path);
	if (source_file_read(&file, TEXT_MAX) == 0) {
		text = (struct words){ file.text, file.text + file.size };
		while (!found && words_line(&text, &line)) {
			if (!words_next(&line, &word) ||
			    !words_equal(&word, limit->full ? "full" : "some"))
				continue;
			while (!found && words_next(&line, &word))
				if (words_skip(&word, "avg60=")) {
					*ret_percent = strtod(word.at, NULL);
					found = true;
				}
		}
	}
	source_file_done(&file);
	return found;
}

static int check_pressure_find(const struct host *host, const struct limit *limit, double now,
			       double minute, struct report *report)
{
	const char *kind = limit->full ? "full" : "some";
	char shown[SHARE_TEXT_SIZE], last[SHARE_TEXT_SIZE], least[SHARE_TEXT_SIZE];
	struct finding *finding = report_find(report, "pressure", limit->severity,
					      "%s waited for %s in %s of the time",
					      limit->full ? "all tasks" : "tasks", limit->resource,
					      share_format(minute / 100, last));

	if (!finding)
		return -ENOMEM;
	share_format(limit->percent / 100, least);
	if (host->watched_ns)
		report_line(&finding->lines,
			    "%s %s: %s over %.1f s, %s over the last minute; limit %s",
			    limit->resource, kind, share_format(now / 100, shown),
			    host->watched_ns / 1e9, last, least);
	else
		report_line(&finding->lines, "%s %s: %s over the last minute; limit %s",
			    limit->resource, kind, last, least);
	report_string(finding, "resource", limit->resource);
	report_string(finding, "kind", kind);
	if (host->watched_ns)
		report_double(finding, "percent", now);
	report_double(finding, "percent_of_last_minute", minute);
	report_line(&finding->means, "%s", limit->means);
	report_line(&finding->confirm, "cat /proc/pressure/%s", limit->resource);
	report_line(&finding->fix, "%s", limit->fix);
	return 0;
}

/*
 * Reports a resource as checked only if its file was read. Omits interrupts on kernels before 6.1,
 * which do not have this file.
 */
static int check_pressure_report_checked(const struct host *host,
					 const bool read[ARRAY_SIZE(limits)], struct report *report)
{
	static const struct {
		const char *resource, *shown;
	} shown[] = { { "memory", "memory" }, { "io", "disks" }, { "irq", "interrupts" } };
	char checked[64] = "", missing[64] = "", path[64], lack[HOST_LACK_SIZE];
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		bool any = false;
		char *to;

		for (size_t j = 0; j < ARRAY_SIZE(limits); j++)
			any |= read[j] && strcmp(limits[j].resource, shown[i].resource) == 0;
		to = any ? checked : missing;
		snprintf(path, sizeof(path), "/proc/pressure/%s", shown[i].resource);
		if (any || strcmp(shown[i].resource, "irq") != 0 || host_has(host, path))
			snprintf(to + strlen(to), sizeof(checked) - strlen(to), "%s%s",
				 *to ? ", " : "", shown[i].shown);
	}
	if (!*checked)
		return report_unread(
			report, NAME, "%s",
			*host->root ? host_lack(host, "/proc/pressure/memory", lack)
				    : "this kernel has no /proc/pressure; it may need psi=1");
	if (*missing)
		r = report_unread(report, "further pressure", "/proc/pressure lacks %s", missing);
	return r < 0 ? r : report_checked(report, NAME, "%s", checked);
}

int check_pressure(const struct host *host, struct report *report)
{
	bool read[ARRAY_SIZE(limits)] = { false };
	const char *found = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(limits); i++) {
		const struct limit *limit = &limits[i];
		double now, minute;
		char name[64];

		if (!read_minute(host, limit, &minute))
			continue;
		read[i] = true;
		snprintf(name, sizeof(name), "pressure/%s_%s_us", limit->resource,
			 limit->full ? "full" : "some");
		/* from microseconds per second to per cent */
		now = host_rate(host, name) / 1e4;
		if (!(minute >= limit->percent && minute <= 100) ||
		    (host->watched_ns && now < limit->percent))
			continue;
		/* a finding for "full" already covers "some" of the same resource */
		if (found && strcmp(found, limit->resource) == 0)
			continue;
		found = limit->resource;
		r = check_pressure_find(host, limit, now, minute, report);
	}
	return r < 0 ? r : check_pressure_report_checked(host, read, report);
}
