// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of the kernel or an administrator that prevent sampling. Rights are those of the user who
 * runs the audit.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "audit/checks.h"

#define NAME "sampling limits"
#define RATE_USUAL 97
/*
 * The allowed rate should be at least RATE_NEAR times the wanted rate. A lower rate is a warning
 * sign, because the kernel may lower the allowed rate further.
 */
#define RATE_NEAR 10
/* Open files per CPU: two rings and one descriptor per event. */
#define FILES_A_CPU 8
#define FILES_MORE 256
#define CAP_SYS_ADMIN_BIT 21
#define CAP_SYS_RESOURCE_BIT 24
#define CAP_PERFMON_BIT 38

/*
 * Returns whether we have a capability; also returns true when /proc/self/status is absent, as in a
 * copy of a host.
 */
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
	report_line(&finding->lines,
		    "%lld samples per second and CPU allowed, %llu wanted; the default is 100000",
		    (long long)rate, (unsigned long long)wanted);
	report_sentence(
		&finding->means,
		"The kernel lowers this limit when samples exceed perf_cpu_time_max_percent.");
	report_sentence(&finding->means, "The kernel never raises the limit again.");
	report_sentence(&finding->means, "A line in the kernel's log then says so.");
	report_sentence(&finding->means, "Without this line, a person or a program set the limit.");
	report_sentence(
		&finding->means,
		"Below the wanted rate, no recording can begin, and a running one is throttled.");
	report_line(&finding->confirm, "dmesg | grep 'perf: interrupt took too long'");
	report_line(&finding->fix, "sysctl kernel.perf_event_max_sample_rate=100000");
	return 0;
}

/* Checks the share of a CPU's time that samples may take. 0 and 100 turn the kernel's limit off. */
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
	report_sentence(&finding->means,
			"The kernel lowers the allowed rate as soon as samples take more.");
	report_sentence(&finding->means, "A single slow interrupt is enough.");
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
	report_line(&finding->lines, "2 hides the kernel's addresses from root, too");
	report_line(&finding->means, "The kernel's functions have no names in any recording.");
	report_line(&finding->confirm, "head -3 /proc/kallsyms");
	report_line(&finding->fix, "sysctl kernel.kptr_restrict=1");
	return 0;
}

/* Checks the right to sample the host, which matters only when no recorder runs. */
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
		"from 1 on, sampling needs CAP_PERFMON or CAP_SYS_ADMIN; this user has neither");
	report_line(
		&finding->means,
		"This user cannot record the whole host; a user with one of the capabilities can.");
	report_line(&finding->confirm, "grep CapEff /proc/self/status");
	report_sentence(&finding->fix,
			"Record as root, or as a service with AmbientCapabilities=CAP_PERFMON.");
	report_sentence(&finding->fix, "Or: sysctl kernel.perf_event_paranoid=0");
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

/*
 * Checks the limit of open files. Does nothing while a recorder runs, because the recorder has its
 * own limit and has opened its files.
 */
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
		    "A recording that this user starts cannot open all its events.");
	finding->confirm.size = 0;
	report_line(&finding->confirm, "ulimit -Hn");
	report_line(&finding->fix, "Raise LimitNOFILE= of the service, or nofile in limits.conf.");
	return 0;
}

/* Without CAP_IPC_LOCK, rings count against this limit, which is one per user for all CPUs. */
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
		    "%lld KiB of rings per CPU without CAP_IPC_LOCK; the kernel's default is 516",
		    (long long)kb);
	report_line(&finding->means, "Rings are smaller, and lose samples earlier.");
	report_line(&finding->fix, "Give CAP_IPC_LOCK, or: sysctl kernel.perf_event_mlock_kb=516");
	return 0;
}

/* Reports the settings, except the rate, that the checks above could not read. */
static int check_sampling_report_unread(const struct host *host, struct report *report)
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
		r = check_sampling_report_unread(host, report);
	return r < 0 ? r
		     : report_checked(report, NAME, "%lld samples per second allowed",
				      (long long)rate);
}
