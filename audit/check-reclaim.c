// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks whether memory is short. /proc/vmstat counts the work that tasks had to do themselves to
 * get memory.
 */
#include <stdio.h>

#include "audit/checks.h"
#include "base/clock.h"

#define NAME "reclaim"

/* Limits for all zones together, per second of the watch. */
static const struct strain {
	const char *kind;
	const char *figures[5];
	double least;
	const char *title, *unit, *means[2], *fix[3];
} strains[] = {
	{ "direct_reclaim",
	  { "vmstat/allocstall_dma", "vmstat/allocstall_dma32", "vmstat/allocstall_normal",
	    "vmstat/allocstall_movable", "vmstat/allocstall_device" },
	  10,
	  "tasks reclaim memory themselves",
	  "times",
	  { "Free memory was below its lowest mark, and kswapd did not keep up.",
	    "The tasks wait in the kernel until they have freed some memory themselves." },
	  { "perftape top shows which processes are in shrink_node.",
	    "Limit these processes with a memory cgroup.",
	    "Or keep more memory free with vm.min_free_kbytes or vm.watermark_scale_factor." } },
	{ "compaction_stalls",
	  { "vmstat/compact_stall" },
	  10,
	  "tasks wait for memory to be compacted",
	  "times",
	  { "The tasks needed a large page, and free memory was in smaller pieces.",
	    "The tasks move other pages themselves to make a large one." },
	  { "Set /sys/kernel/mm/transparent_hugepage/defrag to defer or madvise.",
	    "Or keep more memory free." } },
	{ "swapping",
	  { "vmstat/pswpin" },
	  100,
	  "memory is read back from swap",
	  "pages",
	  { "The running programs do not fit into memory.",
	    "The programs wait until the disk has read their pages." },
	  { "Give the host more memory or less work.",
	    "VmSwap of /proc/PID/status shows which processes were swapped out." } },
};

static double rate_of(const struct host *host, const struct strain *strain)
{
	double rate = 0;

	for (size_t i = 0; i < ARRAY_SIZE(strain->figures) && strain->figures[i]; i++)
		rate += host_rate(host, strain->figures[i]);
	return rate;
}

static void put_sentences(const char *const *sentences, size_t count, struct buffer *paragraph)
{
	for (size_t i = 0; i < count && sentences[i]; i++)
		report_sentence(paragraph, "%s", sentences[i]);
}

static int check_strain(const struct host *host, const struct strain *strain, struct report *report)
{
	int64_t scanned = host_growth(host, "vmstat/pgscan_direct");
	int64_t found = host_growth(host, "vmstat/pgsteal_direct");
	double rate = rate_of(host, strain);
	struct finding *finding;

	if (rate < strain->least)
		return 0;
	finding = report_find(report, strain->kind, SEVERITY_WARNING, "%s, %.0f %s per second",
			      strain->title, rate, strain->unit);
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines, "%.1f per second over %.1f s; the limit is %.0f", rate,
		    host->watched_ns / 1e9, strain->least);
	report_double(finding, "rate", rate);
	if (scanned)
		report_line(&finding->lines, "tasks scanned %lld pages and freed %lld",
			    (long long)scanned, (long long)found);
	report_i64(finding, "pages_scanned", scanned);
	report_i64(finding, "pages_freed", found);
	put_sentences(strain->means, ARRAY_SIZE(strain->means), &finding->means);
	report_line(&finding->confirm,
		    "grep -e allocstall -e pgscan_direct -e pgsteal_direct /proc/vmstat");
	report_line(&finding->confirm, "grep -e compact_stall -e pswpin /proc/vmstat");
	report_line(&finding->confirm, "sar -B 1 5");
	put_sentences(strain->fix, ARRAY_SIZE(strain->fix), &finding->fix);
	return 0;
}

/*
 * Returns the growth from the recorder's last reading to the audit's first one; 0 if the recorder's
 * reading is not from this boot.
 */
static int64_t check_reclaim_between(const struct host *host, const struct host_figure *figure)
{
	if (!figure->read || !figure->from_ns || !host->uptime_ns ||
	    host->now_ns - MIN(host->now_ns, figure->to_ns) >= host->uptime_ns)
		return 0;
	return MAX(figure->first - figure->recorded_last, (int64_t)0);
}

/*
 * Reports OOM kills. The kernel's counter starts at boot, so only growth between two readings
 * counts as recent.
 */
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
		report_line(&finding->lines, "%lld in the last %s of the recording",
			    (long long)kills->grown, over);
	duration_format(host->now_ns - MIN(host->now_ns, kills->to_ns), ago, sizeof(ago));
	if (since)
		report_line(&finding->lines, "%lld since the last recorded reading, %s ago",
			    (long long)since, ago);
	if (host->watched_ns)
		report_line(&finding->lines, "%lld in the last %.1f s", (long long)now,
			    host->watched_ns / 1e9);
	report_line(&finding->lines, "%lld since boot", (long long)kills->last);
	report_i64(finding, "recorded", kills->grown);
	report_i64(finding, "since_recorded", since);
	report_i64(finding, "now", now);
	report_i64(finding, "since_boot", kills->last);
	report_sentence(&finding->means,
			"The host, or a memory cgroup at its limit, had no memory left.");
	report_sentence(&finding->means,
			"A killed program may be started again, and killed again.");
	report_line(&finding->confirm, "dmesg -T | grep -i -e oom-kill -e 'Killed process'");
	report_sentence(&finding->fix,
			"CONSTRAINT_MEMCG in the log means that a cgroup reached its limit.");
	report_sentence(&finding->fix,
			"Raise the limit, or make the programs in the cgroup use less memory.");
	return 0;
}

int check_reclaim(const struct host *host, struct report *report)
{
	char lack[HOST_LACK_SIZE];
	int r;

	if (!host_find(host, "vmstat/pgscan_direct"))
		return report_unread(report, NAME, "%s", host_lack(host, "/proc/vmstat", lack));
	r = check_kills(host, report);
	if (r < 0)
		return r;
	if (!host->watched_ns)
		return report_unread(report, NAME, "rates need two readings");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(strains); i++)
		r = check_strain(host, &strains[i], report);
	return r < 0 ? r
		     : report_checked(report, NAME, "tasks scanned %.0f pages per second",
				      host_rate(host, "vmstat/pgscan_direct"));
}
