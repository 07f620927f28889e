// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory cgroups that were removed and still live in the kernel. After a removal, tens to hundreds
 * of them are usual: grace periods and shared memory delay the end. More than DYING_MANY of them,
 * and many times the number in use, are a leak.
 */
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "base/clock.h"
#include "base/json.h"

#define NAME "memory cgroups"
#define DYING_MANY 2000
/* The recorder writes an event once per minute, so an event that is at most this old is current. */
#define FRESH_NS (90 * NSEC_PER_SEC)
#define TIMES_IN_USE 5
#define DAY_NS (24 * 3600 * NSEC_PER_SEC)
/* A history shorter than this does not allow an estimate per day. */
#define SLOPE_MIN_NS (30 * 60 * NSEC_PER_SEC)
#define PREFIXES_SHOWN 5

/*
 * An early leak: `count` consecutive stretches of `length_ns`, each with a growth of at least
 * `least`.
 */
static const struct {
	uint64_t length_ns;
	size_t count;
	int64_t least;
	enum severity severity;
} slopes[] = {
	{ 10 * 60 * NSEC_PER_SEC, 6, 50, SEVERITY_WARNING },
	{ 3600 * NSEC_PER_SEC, 4, 10, SEVERITY_NOTICE },
};

struct level {
	int64_t tracked, in_use, dying;
	bool has_slope;
	int64_t grown;
	uint64_t over_ns;
};

/*
 * Finds the number of cgroups that were dying at a moment, from the last reading before that
 * moment.
 */
static bool check_memory_cgroups_value_at(const struct host *host, uint64_t time_ns,
					  int64_t *ret_value)
{
	bool found = false;

	for (size_t i = 0; i < host->dying_points.count; i++) {
		const struct host_point *point = &host->dying_points.items[i];

		if (point->time_ns > time_ns)
			break;
		*ret_value = point->value;
		found = true;
	}
	return found;
}

static bool check_memory_cgroups_is_rising(const struct host *host, uint64_t length_ns,
					   size_t count, int64_t least)
{
	uint64_t end_ns = host->recorded_to_ns;
	int64_t later, earlier;

	if (!check_memory_cgroups_value_at(host, end_ns, &later))
		return false;
	for (size_t i = 0; i < count; i++) {
		end_ns -= MIN(end_ns, length_ns);
		if (!check_memory_cgroups_value_at(host, end_ns, &earlier) ||
		    later - earlier < least)
			return false;
		later = earlier;
	}
	return true;
}

static void check_memory_cgroups_measure(const struct host *host, struct level *level)
{
	const struct host_figure *dying = host_find(host, "memory_cgroups/dying");

	level->tracked = host_find(host, "memory_cgroups/tracked")->last;
	level->in_use = host_find(host, "memory_cgroups/in_use")->last;
	level->dying = dying->last;
	level->over_ns = dying->to_ns - dying->from_ns;
	level->grown = dying->recorded_last - dying->recorded_first;
	level->has_slope = dying->from_ns && level->over_ns >= SLOPE_MIN_NS;
}

static int64_t growth_per_day(const struct level *level)
{
	return level->has_slope ? (double)level->grown * DAY_NS / level->over_ns : 0;
}

static void put_slope(const struct level *level, struct finding *finding)
{
	char grown[COUNT_TEXT_SIZE], daily[COUNT_TEXT_SIZE], over[32];

	if (!level->has_slope)
		return;
	duration_format(level->over_ns, over, sizeof(over));
	report_line(&finding->lines,
		    "%s%s dying within the last %s of the recording, at that rate %s%s per day",
		    level->grown > 0 ? "+" : "", count_format(level->grown, grown), over,
		    level->grown > 0 ? "+" : "", count_format(growth_per_day(level), daily));
	report_i64(finding, "grown", level->grown);
	report_double(finding, "grown_over_s", level->over_ns / 1e9);
	report_i64(finding, "grown_a_day", growth_per_day(level));
}

static void put_prefix(const struct host_dying *dying, struct finding *finding)
{
	char count[COUNT_TEXT_SIZE], age[32];
	struct buffer *json = &finding->numbers;

	duration_format(dying->oldest_s * NSEC_PER_SEC, age, sizeof(age));
	report_line(&finding->lines, "under %s: %s dying, the oldest for %s%s%s%s%s",
		    *dying->prefix ? dying->prefix : "/", count_format(dying->count, count), age,
		    *dying->made_by ? ", made by " : "", dying->made_by,
		    *dying->removed_by ? ", removed by " : "", dying->removed_by);
	json_open(json, '{');
	report_string(finding, "prefix", dying->prefix);
	report_i64(finding, "count", dying->count);
	report_i64(finding, "oldest_s", dying->oldest_s);
	report_string(finding, "made_by", dying->made_by);
	report_string(finding, "removed_by", dying->removed_by);
	json_close(json, '}');
}

/* Puts how long the recorder has counted. It knows only cgroups that were removed while it ran. */
static void check_memory_cgroups_put_counted(const struct host *host, struct finding *finding)
{
	char counted[32];

	if (!host->dying.count || !host->dying_counted_s)
		return;
	report_line(
		&finding->lines,
		"the recorder had counted for %s then; it does not know earlier removals",
		duration_format(host->dying_counted_s * NSEC_PER_SEC, counted, sizeof(counted)));
	if (host->dying_unsure)
		report_line(
			&finding->lines,
			"%lld trace events were lost meanwhile; counts may be off by that number",
			(long long)host->dying_unsure);
	report_i64(finding, "by_prefix_counted_s", host->dying_counted_s);
	report_i64(finding, "by_prefix_unsure", host->dying_unsure);
}

/* Lists the paths under which cgroups are dying, and the programs that made these cgroups. */
static void put_prefixes(const struct host *host, struct finding *finding)
{
	const char *told = host->options->recorder.dying;
	uint64_t age_ns = host->now_ns - MIN(host->dying_ns, host->now_ns);
	char age[32];

	if (host->dying.count && age_ns > FRESH_NS)
		report_line(
			&finding->lines, "as of the recorder's last event, %s ago:",
			duration_format(age_ns / NSEC_PER_SEC * NSEC_PER_SEC, age, sizeof(age)));
	else if (!host->dying.count && told && *told)
		report_line(&finding->lines, "the recorder saw %s", told);
	if (host->dying.count)
		report_double(finding, "by_prefix_age_s", age_ns / NSEC_PER_SEC);
	json_key(&finding->numbers, "by_prefix");
	json_open(&finding->numbers, '[');
	for (size_t i = 0; i < MIN(host->dying.count, PREFIXES_SHOWN); i++)
		put_prefix(&host->dying.items[i], finding);
	json_close(&finding->numbers, ']');
	check_memory_cgroups_put_counted(host, finding);
}

static void check_memory_cgroups_put_numbers(const struct host *host, const struct level *level,
					     struct finding *finding)
{
	char tracked[COUNT_TEXT_SIZE], in_use[COUNT_TEXT_SIZE], dying[COUNT_TEXT_SIZE];

	report_line(&finding->lines, "%s tracked by the kernel, %s in use, %s dying",
		    count_format(level->tracked, tracked), count_format(level->in_use, in_use),
		    count_format(level->dying, dying));
	report_i64(finding, "tracked", level->tracked);
	report_i64(finding, "in_use", level->in_use);
	report_i64(finding, "dying", level->dying);
	put_slope(level, finding);
	put_prefixes(host, finding);
}

static void check_memory_cgroups_put_advice(const struct host *host, struct finding *finding)
{
	const char *path = host->cgroups.path + strlen(host->root);

	if (host->cgroups.v1) {
		report_line(&finding->confirm, "grep -w -e subsys_name -e memory /proc/cgroups");
		report_line(&finding->confirm, "find %s -type d | wc -l", path);
	} else {
		report_line(&finding->confirm, "grep -e descendants -e memory %s/cgroup.stat",
			    path);
	}
	report_sentence(&finding->means,
			"Memory that is still charged to a removed cgroup keeps it in the kernel.");
	report_sentence(&finding->means, "Often that is the page cache of files.");
	report_sentence(&finding->means, "Reclaim walks all of these cgroups.");
	report_sentence(
		&finding->means,
		"Before Linux 5.8, a read of memory.numa_stat with cgroup v1 does so, too.");
	report_sentence(&finding->means, "kubelet and cAdvisor read it every 10 s.");
	report_sentence(
		&finding->means,
		"With tens of thousands of cgroups, one walk keeps a core busy for seconds.");
	report_sentence(&finding->means,
			"A network queue that this core serves makes no progress meanwhile.");
	report_sentence(&finding->fix, "Stop the unit or container that starts again and again.");
	report_sentence(&finding->fix, "Each start leaves a cgroup behind.");
	report_sentence(
		&finding->fix,
		"The cgroups that exist end with a reboot, or when their memory is reclaimed.");
	report_sentence(&finding->fix, "echo 3 > /proc/sys/vm/drop_caches reclaims cached memory.");
	report_sentence(&finding->fix,
			"With this many cgroups, dropping the caches keeps a core busy.");
	report_sentence(&finding->fix, "It also slows down programs that read files.");
	report_sentence(
		&finding->fix,
		"Files in memory (tmpfs, /dev/shm) stay: remove the ones that nobody needs.");
}

static int check_memory_cgroups_find(const struct host *host, const struct level *level,
				     enum severity severity, struct report *report)
{
	char tracked[COUNT_TEXT_SIZE], in_use[COUNT_TEXT_SIZE];
	struct finding *finding = report_find(
		report, "zombie_memory_cgroups", severity,
		"the kernel tracks %s memory cgroups, and %s are in use",
		count_format(level->tracked, tracked), count_format(level->in_use, in_use));

	if (!finding)
		return -ENOMEM;
	check_memory_cgroups_put_numbers(host, level, finding);
	check_memory_cgroups_put_advice(host, finding);
	return 0;
}

/* Reports why the audit did not count the memory cgroups, as far as an absent file explains it. */
static int check_memory_cgroups_report_unread(const struct host *host, struct report *report)
{
	static const char mounts[] = "/proc/self/mountinfo", rows[] = "/proc/cgroups";
	const char *below = host->cgroups.path + strlen(host->root);
	char lack[HOST_LACK_SIZE], path[PATH_MAX];

	if (!host_has(host, mounts))
		return report_unread(report, NAME, "%s", host_lack(host, mounts, lack));
	if (!host->has_cgroups)
		return report_unread(report, NAME, "cgroups are not mounted");
	snprintf(path, sizeof(path), "%.*s%s", PATH_MAX - 32, below,
		 host->cgroups.v1   ? ""
		 : host->has_memory ? "/cgroup.stat"
				    : "/cgroup.controllers");
	if (!host_has(host, path))
		return report_unread(report, NAME, "%s", host_lack(host, path, lack));
	if (!host->has_memory)
		return report_unread(report, NAME, "this kernel has no memory controller");
	if (host->cgroups.v1 && !host_has(host, rows))
		return report_unread(report, NAME, "%s", host_lack(host, rows, lack));
	return report_unread(report, NAME,
			     "cgroups cannot be counted in a container, or are too many to walk");
}

int check_memory_cgroups(const struct host *host, struct report *report)
{
	const struct host_figure *dying = host_find(host, "memory_cgroups/dying");
	char in_use[COUNT_TEXT_SIZE], shown[COUNT_TEXT_SIZE];
	struct level level;
	int r = 0;

	if (!dying || !dying->read)
		return check_memory_cgroups_report_unread(host, report);
	check_memory_cgroups_measure(host, &level);
	if (level.dying > DYING_MANY && level.tracked > TIMES_IN_USE * level.in_use)
		r = check_memory_cgroups_find(host, &level, SEVERITY_CRITICAL, report);
	else
		for (size_t i = 0; i < ARRAY_SIZE(slopes); i++)
			if (check_memory_cgroups_is_rising(host, slopes[i].length_ns,
							   slopes[i].count, slopes[i].least)) {
				r = check_memory_cgroups_find(host, &level, slopes[i].severity,
							      report);
				break;
			}
	return r < 0 ? r
		     : report_checked(report, NAME, "%s in use, %s dying",
				      count_format(level.in_use, in_use),
				      count_format(level.dying, shown));
}
