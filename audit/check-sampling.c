// SPDX-License-Identifier: GPL-2.0-only
/* What keeps a host from being sampled: limits that the kernel or a person has set. Those of who
 * runs the audit, where rights are asked for. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "audit/checks.h"

#define NAME "sampling limits"
#define RATE_USUAL 97
/* The kernel goes on lowering once it has begun: this is near. */
#define RATE_NEAR 10
/* Two rings a CPU, a descriptor for each event of each, and what threads and files take. */
#define FILES_A_CPU 8
#define FILES_MORE 256
#define CAP_SYS_ADMIN_BIT 21
#define CAP_SYS_RESOURCE_BIT 24
#define CAP_PERFMON_BIT 38

/* Of who runs this; where that is not known, as in a copy without it, nothing is missing. */
static bool has_capability(const struct host *host, int bit)
{
	struct source_file file;
	struct words text, line, word;
	unsigned long long set = UINT64_MAX;

	source_file_init(&file, host->root, "/proc/self/status");
	if (source_file_read(&file, 1 << 16) == 0) {
		text = (struct words){ file.text, file.text + file.size };
		while (words_line(&text, &line))
			if (words_next(&line, &word) && words_equal(&word, "CapEff:") &&
			    words_next(&line, &word))
				set = strtoull(word.at, NULL, 16);
	}
	source_file_done(&file);
	return set >> bit & 1;
}

static bool may_sample(const struct host *host)
{
	return has_capability(host, CAP_PERFMON_BIT) || has_capability(host, CAP_SYS_ADMIN_BIT);
}

static struct finding *check_sampling_find(struct report *report, enum severity severity,
					   const char *name, int64_t value)
{
	struct finding *finding = report_find(report, "sampling_limits", severity, "%s is %lld",
					      name, (long long)value);

	if (!finding)
		return NULL;
	report_string(finding, "setting", name);
	report_i64(finding, "value", value);
	report_line(&finding->confirm, "sysctl %s", name);
	return finding;
}

static int check_rate(const struct host *host, struct report *report)
{
	uint64_t wanted = host->options->recorder.frequency;
	struct finding *finding;
	int64_t rate;

	wanted = wanted ? wanted : RATE_USUAL;
	if (!host_number(host, "/proc/sys/kernel/perf_event_max_sample_rate", &rate) ||
	    rate >= (int64_t)wanted * RATE_NEAR)
		return 0;
	finding = check_sampling_find(report,
				      rate < (int64_t)wanted ? SEVERITY_CRITICAL : SEVERITY_WARNING,
				      "kernel.perf_event_max_sample_rate", rate);
	if (!finding)
		return -ENOMEM;
	report_i64(finding, "wanted", wanted);
	report_line(
		&finding->lines,
		"%lld samples a second and CPU are allowed, %llu are wanted; the kernel's default is 100000",
		(long long)rate, (unsigned long long)wanted);
	report_line(
		&finding->means,
		"The kernel lowers it when samples take longer than perf_cpu_time_max_percent allows, as after an interrupt that was held up, and never raises it again; the log says so then, and else somebody set it. Below what is wanted, a recording cannot begin, and one that runs is throttled.");
	report_line(&finding->confirm, "dmesg | grep 'perf: interrupt took too long'");
	report_line(&finding->fix, "sysctl kernel.perf_event_max_sample_rate=100000");
	return 0;
}

/* 0 and 100 turn the limit off. */
static int check_share(const struct host *host, struct report *report)
{
	struct finding *finding;
	int64_t percent;

	if (!host_number(host, "/proc/sys/kernel/perf_cpu_time_max_percent", &percent) ||
	    percent == 0 || percent >= 5)
		return 0;
	finding = check_sampling_find(report, SEVERITY_NOTICE, "kernel.perf_cpu_time_max_percent",
				      percent);
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines,
		    "%lld %% of a CPU's time may go into samples; the kernel's default is 25",
		    (long long)percent);
	report_line(
		&finding->means,
		"The kernel lowers the allowed rate as soon as samples take more, which single slow interrupts do.");
	report_line(&finding->fix, "sysctl kernel.perf_cpu_time_max_percent=25");
	return 0;
}

static int check_names(const struct host *host, struct report *report)
{
	struct finding *finding;
	int64_t restrict_level;

	if (!host_number(host, "/proc/sys/kernel/kptr_restrict", &restrict_level) ||
	    restrict_level < 2)
		return 0;
	finding = check_sampling_find(report, SEVERITY_WARNING, "kernel.kptr_restrict",
				      restrict_level);
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines, "2 hides the kernel's addresses from root too");
	report_line(&finding->means, "The kernel's functions have no names in any recording.");
	report_line(&finding->confirm, "head -3 /proc/kallsyms");
	report_line(&finding->fix, "sysctl kernel.kptr_restrict=1");
	return 0;
}

/* Only of interest where nobody else records. */
static int check_rights(const struct host *host, struct report *report)
{
	struct finding *finding;
	int64_t paranoid;

	if (host->options->recorder.running || may_sample(host) ||
	    !host_number(host, "/proc/sys/kernel/perf_event_paranoid", &paranoid) || paranoid < 1)
		return 0;
	finding = check_sampling_find(report, SEVERITY_NOTICE, "kernel.perf_event_paranoid",
				      paranoid);
	if (!finding)
		return -ENOMEM;
	report_line(
		&finding->lines,
		"who runs this has neither CAP_PERFMON nor CAP_SYS_ADMIN, and from 1 on that is needed");
	report_line(&finding->means,
		    "This user cannot record the whole host; one with the capability can.");
	report_line(&finding->confirm, "grep CapEff /proc/self/status");
	report_line(
		&finding->fix,
		"Record as root, or as a service with AmbientCapabilities=CAP_PERFMON; or sysctl kernel.perf_event_paranoid=0.");
	return 0;
}

static int64_t count_cpus(const struct host *host)
{
	int64_t count = 0;

	for (uint32_t id = 1; id < strings_count(&host->names); id++) {
		const char *name = strings_at(&host->names, id), *slash = strchr(name, '/');

		count += strncmp(name, "cpu", 3) == 0 && slash && strcmp(slash, "/idle_ms") == 0;
	}
	return count;
}

/* A recorder that runs has its own limits, and has got what it needs. */
static int check_files(const struct host *host, struct report *report)
{
	int64_t needed = count_cpus(host) * FILES_A_CPU + FILES_MORE;
	struct finding *finding;
	struct rlimit limit;

	if (*host->root || host->options->recorder.running ||
	    getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max >= (rlim_t)needed ||
	    has_capability(host, CAP_SYS_RESOURCE_BIT))
		return 0;
	finding = check_sampling_find(report, SEVERITY_WARNING, "RLIMIT_NOFILE", limit.rlim_max);
	if (!finding)
		return -ENOMEM;
	report_i64(finding, "wanted", needed);
	report_line(&finding->lines, "a recording of this host's CPUs may need %lld open files",
		    (long long)needed);
	report_line(&finding->means,
		    "A recording started from here could not open all of its events.");
	finding->confirm.size = 0;
	report_line(&finding->confirm, "ulimit -Hn");
	report_line(&finding->fix, "LimitNOFILE= of the service, or nofile in limits.conf.");
	return 0;
}

/* Without CAP_IPC_LOCK rings come out of this, and it is for all CPUs together that of one user. */
static int check_locked(const struct host *host, struct report *report)
{
	struct finding *finding;
	int64_t kb;

	if (host->options->recorder.running || may_sample(host) ||
	    !host_number(host, "/proc/sys/kernel/perf_event_mlock_kb", &kb) || kb >= 516)
		return 0;
	finding = check_sampling_find(report, SEVERITY_NOTICE, "kernel.perf_event_mlock_kb", kb);
	if (!finding)
		return -ENOMEM;
	report_line(&finding->lines,
		    "%lld KiB of rings a CPU without CAP_IPC_LOCK; the kernel's default is 516",
		    (long long)kb);
	report_line(&finding->means, "Rings are smaller, and lose samples earlier.");
	report_line(&finding->fix, "sysctl kernel.perf_event_mlock_kb=516, or CAP_IPC_LOCK.");
	return 0;
}

/* All that the checks above read but for the rate. */
static int check_sampling_tell_unread(const struct host *host, struct report *report)
{
	static const char *const paths[] = { "/proc/sys/kernel/perf_cpu_time_max_percent",
					     "/proc/sys/kernel/kptr_restrict",
					     "/proc/sys/kernel/perf_event_paranoid",
					     "/proc/sys/kernel/perf_event_mlock_kb" };
	char list[HOST_LACK_SIZE] = "";

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		size_t used = strlen(list);

		if (!host_has(host, paths[i]))
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				 strrchr(paths[i], '/') + 1);
	}
	return *list ? report_unread(report, "further limits", "%s of /proc/sys/kernel", list) : 0;
}

int check_sampling(const struct host *host, struct report *report)
{
	char lack[HOST_LACK_SIZE];
	static int (*const settings[])(const struct host *host, struct report *report) = {
		check_rate, check_share, check_names, check_rights, check_files, check_locked
	};
	int64_t rate;
	int r = 0;

	if (!host_number(host, "/proc/sys/kernel/perf_event_max_sample_rate", &rate))
		return report_unread(
			report, NAME, "%s",
			host_lack(host, "/proc/sys/kernel/perf_event_max_sample_rate", lack));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(settings); i++)
		r = settings[i](host, report);
	if (r == 0)
		r = check_sampling_tell_unread(host, report);
	return r < 0 ? r
		     : report_checked(report, NAME, "%lld samples a second allowed",
				      (long long)rate);
}
