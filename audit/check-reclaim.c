// SPDX-License-Identifier: GPL-2.0-only
/* Is memory short? What tasks had to do for it themselves, from /proc/vmstat. */
#include <stdio.h>

#include "audit/checks.h"
#include "base/clock.h"

#define NAME "reclaim"

/* Of all zones together, so many a second while the host was watched. */
static const struct strain {
	const char *kind;
	const char *figures[5];
	double least;
	const char *title, *unit, *means, *fix;
} strains[] = {
	{ "direct_reclaim",
	  { "vmstat/allocstall_dma", "vmstat/allocstall_dma32", "vmstat/allocstall_normal",
	    "vmstat/allocstall_movable", "vmstat/allocstall_device" },
	  10,
	  "tasks reclaim memory themselves",
	  "times",
	  "Free memory was below the lowest mark when they asked for some, and kswapd did not keep up: they wait in the kernel until they have found it.",
	  "Find who takes the memory (perftape top shows who is in shrink_node), limit it with a memory cgroup, or keep more free with vm.min_free_kbytes or vm.watermark_scale_factor." },
	{ "compaction_stalls",
	  { "vmstat/compact_stall" },
	  10,
	  "tasks wait for memory to be compacted",
	  "times",
	  "They asked for a large page and there was none in one piece: they move other pages themselves.",
	  "Set /sys/kernel/mm/transparent_hugepage/defrag to defer or madvise, or keep more memory free." },
	{ "swapping",
	  { "vmstat/pswpin" },
	  100,
	  "memory is read back from swap",
	  "pages",
	  "What runs does not fit into memory: it waits for the disk for its own pages.",
	  "Give it more memory or less work; find who was swapped out in VmSwap of /proc/PID/status." },
};

static double rate_of(const struct host *host, const struct strain *strain)
{
	double rate = 0;

	for (size_t i = 0; i < ARRAY_SIZE(strain->figures) && strain->figures[i]; i++)
		rate += host_rate(host, strain->figures[i]);
	return rate;
}

static int check_strain(const struct host *host, const struct strain *strain, struct report *report)
{
	int64_t scanned = host_growth(host, "vmstat/pgscan_direct");
	int64_t found = host_growth(host, "vmstat/pgsteal_direct");
	double rate = rate_of(host, strain);
	struct finding *finding;

	if (rate < strain->least)
		return 0;
	finding = report_find(report, strain->kind, SEVERITY_WARNING, "%s, %.0f %s a second",
			      strain->title, rate, strain->unit);
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines, "%.1f a second, over %.1f s; from %.0f on it is a finding",
		    rate, host->watched_ns / 1e9, strain->least);
	report_double(finding, "rate", rate);
	if (scanned)
		report_line(&finding->lines,
			    "of %lld pages that they looked at, %lld could be freed",
			    (long long)scanned, (long long)found);
	report_i64(finding, "pages_scanned", scanned);
	report_i64(finding, "pages_freed", found);
	report_line(&finding->means, "%s", strain->means);
	report_line(
		&finding->confirm,
		"grep -e allocstall -e pgscan_direct -e pgsteal_direct -e compact_stall -e pswpin /proc/vmstat");
	report_line(&finding->confirm, "sar -B 1 5");
	report_line(&finding->fix, "%s", strain->fix);
	return 0;
}

/* From the last reading that was recorded, if that was since the host was started, to our first
 * one. */
static int64_t check_reclaim_between(const struct host *host, const struct host_figure *figure)
{
	if (!figure->read || !figure->from_ns || !host->uptime_ns ||
	    host->now_ns - MIN(host->now_ns, figure->to_ns) >= host->uptime_ns)
		return 0;
	return MAX(figure->first - figure->recorded_last, (int64_t)0);
}

/* The kernel counts since it was started: only those that were seen to come are of now. */
static int check_kills(const struct host *host, struct report *report)
{
	const struct host_figure *kills = host_find(host, "vmstat/oom_kill");
	int64_t now = host_growth(host, "vmstat/oom_kill");
	struct finding *finding;
	char over[32], ago[32];
	int64_t since;

	if (!kills)
		return 0;
	since = check_reclaim_between(host, kills);
	if (!now && !since && kills->grown <= 0)
		return 0;
	duration_format(kills->to_ns - kills->from_ns, over, sizeof(over));
	finding = report_find(report, "oom_kills", now ? SEVERITY_CRITICAL : SEVERITY_WARNING,
			      "the kernel killed processes because memory ran out");
	if (!finding)
		return -ENOMEM;
	if (kills->grown > 0)
		report_line(&finding->lines, "%lld within the last %s that were recorded",
			    (long long)kills->grown, over);
	duration_format(host->now_ns - MIN(host->now_ns, kills->to_ns), ago, sizeof(ago));
	if (since)
		report_line(&finding->lines,
			    "%lld since the last reading that was recorded, %s ago",
			    (long long)since, ago);
	if (host->watched_ns)
		report_line(&finding->lines, "%lld within the last %.1f s", (long long)now,
			    host->watched_ns / 1e9);
	report_line(&finding->lines, "%lld since the host was started", (long long)kills->last);
	report_i64(finding, "recorded", kills->grown);
	report_i64(finding, "since_recorded", since);
	report_i64(finding, "now", now);
	report_i64(finding, "since_boot", kills->last);
	report_line(
		&finding->means,
		"The whole host, or a memory cgroup at its limit, had no memory left. What was killed may be started again, and killed again.");
	report_line(&finding->confirm, "dmesg -T | grep -i -e oom-kill -e 'Killed process'");
	report_line(
		&finding->fix,
		"The log says whether it was a cgroup's limit (CONSTRAINT_MEMCG): raise that, or give the work less to hold.");
	return 0;
}

int check_reclaim(const struct host *host, struct report *report)
{
	char lack[HOST_LACK_SIZE];
	int r;

	if (!host_find(host, "vmstat/pgscan_direct"))
		return report_unread(report, NAME, "%s", host_lack(host, "/proc/vmstat", lack));
	r = check_kills(host, report);
	if (r == 0 && !host->watched_ns)
		return report_unread(report, NAME, "one reading has no rates");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(strains); i++)
		r = check_strain(host, &strains[i], report);
	return r < 0 ? r
		     : report_checked(report, NAME, "%.0f pages a second scanned by tasks",
				      host_rate(host, "vmstat/pgscan_direct"));
}
