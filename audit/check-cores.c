// SPDX-License-Identifier: GPL-2.0-only
/*
 * Single cores that were saturated during the whole watch. A core that is saturated in the kernel
 * starves everything else on that core, such as a network queue. This happens even if all other
 * cores are idle. A core that is saturated in user mode is often intended.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/checks.h"
#include "audit/threads.h"
#include "base/json.h"
#include "base/mutation.h"
#include "base/number.h"
#include "gauges/interrupts.h"

#define NAME "cores"
#define BUSY_PERCENT 95
#define KERNEL_MOST 90
#define KERNEL_MUCH 50
#define LOOKS_IDLE 50
#define SHOWN_MAX 8

enum part { USER, NICE, SYSTEM, IRQ, SOFTIRQ, STEAL, IDLE, IOWAIT, GUEST, PARTS };

static const char *const parts[PARTS] = { "user",  "nice", "system", "irq",  "softirq",
					  "steal", "idle", "iowait", "guest" };

struct core {
	uint32_t cpu;
	/* per cent of the time */
	double busy, kernel, interrupts;
};

struct cores {
	array_of(struct core) saturated;
	size_t count;
	/* the sum over all CPUs */
	double busy;
};

/*
 * Returns the time by which to judge a CPU. Stolen time does not show what the CPU would have done,
 * so leave it out. If most of the time was stolen, the rest is too short to judge by, so keep it.
 */
static int64_t judged_ms(const int64_t ms[PARTS], int64_t total)
{
	return 2 * ms[STEAL] < total ? total - ms[STEAL] : total;
}

static bool check_cores_measure(const struct host *host, uint32_t cpu, struct core *core)
{
	int64_t ms[PARTS], total = 0, judged;
	char name[64];

	for (int i = 0; i < PARTS; i++) {
		snprintf(name, sizeof(name), "cpu%u/%s_ms", cpu, parts[i]);
		/* the kernel's idle counter may go back a little */
		ms[i] = MAX(host_growth(host, name), 0);
		total += ms[i];
	}
	if (!total)
		return false;
	judged = judged_ms(ms, total);
	core->cpu = cpu;
	core->busy = 100.0 * (total - ms[IDLE] - ms[IOWAIT] - ms[STEAL]) / judged;
	core->kernel = 100.0 * (ms[SYSTEM] + ms[IRQ] + ms[SOFTIRQ]) / judged;
	core->interrupts = 100.0 * (ms[IRQ] + ms[SOFTIRQ]) / judged;
	if (mutated("blind-to-kernel"))
		core->kernel = 0;
	return true;
}

static int measure_all(const struct host *host, struct cores *cores)
{
	int r = 0;

	for (uint32_t id = 1; r == 0 && id < strings_count(&host->names); id++) {
		struct core core;
		uint32_t cpu;
		int end = 0;

		if (sscanf(strings_at(&host->names, id), "cpu%u/idle_ms%n", &cpu, &end) != 1 ||
		    !end || !check_cores_measure(host, cpu, &core))
			continue;
		cores->count++;
		cores->busy += core.busy;
		if (core.busy >= BUSY_PERCENT)
			r = array_push(&cores->saturated, core);
	}
	return r;
}

/*
 * Keeps cores that are saturated in the kernel; keeps the others only if they stand out. If more
 * than half of the CPUs are saturated, the whole host is busy, and single CPUs do not stand out.
 */
static void drop_usual(struct cores *cores)
{
	bool most = 2 * cores->saturated.count > cores->count;
	size_t kept = 0;

	for (size_t i = 0; i < cores->saturated.count; i++)
		if (cores->saturated.items[i].kernel >= KERNEL_MUCH || !most)
			cores->saturated.items[kept++] = cores->saturated.items[i];
	cores->saturated.count = kept;
}

static void sort_cores(struct cores *cores)
{
	struct core *items = cores->saturated.items;

	for (size_t i = 1; i < cores->saturated.count; i++) {
		struct core core = items[i];
		size_t at = i;

		for (; at && items[at - 1].kernel < core.kernel; at--)
			items[at] = items[at - 1];
		items[at] = core;
	}
}

static const char *name_of(const struct interrupt *one)
{
	return *one->ifname ? one->ifname : one->device;
}

/*
 * Returns whether the list already has the queue. A queue may have two interrupts: one to send and
 * one to receive.
 */
static bool check_cores_is_listed(const struct interrupts *served, size_t at)
{
	const struct interrupt *list = served->list.items;

	for (size_t i = 0; i < at; i++)
		if (list[i].cpu == list[at].cpu && list[i].queue == list[at].queue &&
		    strcmp(name_of(&list[i]), name_of(&list[at])) == 0)
			return true;
	return false;
}

static void check_cores_put_queues(const struct interrupts *served, uint32_t cpu,
				   struct finding *finding)
{
	struct buffer *json = &finding->numbers;

	json_key(json, "queues");
	json_open(json, '[');
	for (size_t i = 0; i < served->list.count; i++) {
		const struct interrupt *one = &served->list.items[i];
		char queue[64];

		if (one->cpu != cpu || check_cores_is_listed(served, i))
			continue;
		snprintf(queue, sizeof(queue), "%s queue %u", name_of(one), one->queue);
		json_string(json, queue);
		report_line(&finding->lines, "CPU %u serves %s", cpu, queue);
	}
	json_close(json, ']');
}

static void check_cores_put_thread(const struct thread_share *share, struct finding *finding)
{
	char all[SHARE_TEXT_SIZE], kernel[SHARE_TEXT_SIZE];

	if (!share->tid)
		return;
	report_line(&finding->lines,
		    "CPU %u, busiest thread: %s (pid %d, tid %d), %s, %s of it in the kernel",
		    share->cpu, share->comm, share->pid, share->tid,
		    share_format(share->percent / 100, all),
		    share_format(share->kernel / 100, kernel));
	report_i64(finding, "pid", share->pid);
	report_i64(finding, "tid", share->tid);
	report_string(finding, "comm", share->comm);
}

static void check_cores_put_core(const struct core *core, const struct thread_share *share,
				 const struct interrupts *served, struct finding *finding)
{
	char busy[SHARE_TEXT_SIZE], kernel[SHARE_TEXT_SIZE], interrupts[SHARE_TEXT_SIZE];

	report_line(&finding->lines, "CPU %u: %s busy, %s in the kernel, %s with interrupts",
		    core->cpu, share_format(core->busy / 100, busy),
		    share_format(core->kernel / 100, kernel),
		    share_format(core->interrupts / 100, interrupts));
	json_open(&finding->numbers, '{');
	report_i64(finding, "cpu", core->cpu);
	report_double(finding, "busy", core->busy);
	report_double(finding, "kernel", core->kernel);
	report_double(finding, "interrupts", core->interrupts);
	check_cores_put_thread(share, finding);
	check_cores_put_queues(served, core->cpu, finding);
	json_close(&finding->numbers, '}');
}

static void check_cores_put_kernel_meaning(bool most, bool looks_idle, struct finding *finding)
{
	report_sentence(&finding->means, "%s",
			most ? "This CPU hardly leaves the kernel."
			     : "Most of this CPU's time goes to the kernel.");
	report_sentence(
		&finding->means,
		"Other work there may have to wait, such as a network queue or a watchdog.");
	if (most && looks_idle)
		report_sentence(&finding->means, "The host as a whole looks idle meanwhile.");
}

static void check_cores_put_meaning(const struct core *worst, const struct thread_share *share,
				    double all_busy, struct finding *finding)
{
	if (worst->kernel >= KERNEL_MUCH) {
		check_cores_put_kernel_meaning(worst->kernel >= KERNEL_MOST, all_busy < LOOKS_IDLE,
					       finding);
		return;
	}
	if (!share->tid || share->percent < BUSY_PERCENT - 15) {
		report_sentence(&finding->means,
				"Other work there waits for this CPU, or moves to another one.");
		return;
	}
	report_sentence(&finding->means, "One thread computes all the time.");
	report_sentence(&finding->means,
			"Many programs do so on purpose, but other work waits for the thread.");
}

static void check_cores_put_fix(bool kernel, struct finding *finding)
{
	if (!kernel) {
		report_sentence(&finding->fix, "Do nothing if this is intended.");
		report_sentence(
			&finding->fix,
			"Otherwise give it more threads, or a CPU that serves no network queue.");
		return;
	}
	report_sentence(&finding->fix,
			"With a recorder, perftape spikes lists earlier busy times.");
	report_sentence(&finding->fix,
			"perftape top --cpu N --from now-1m shows which function used the CPU.");
	report_sentence(&finding->fix,
			"/proc/irq/N/smp_affinity moves interrupts, and taskset moves threads.");
}

static void check_cores_put_advice(const struct core *worst, const struct thread_share *share,
				   double all_busy, struct finding *finding)
{
	check_cores_put_meaning(worst, share, all_busy, finding);

	report_line(&finding->confirm, "mpstat -P %u 1 5", worst->cpu);
	report_line(&finding->confirm, "perf top -C %u -g", worst->cpu);
	report_line(&finding->confirm, "pidstat -t 1 5");
	check_cores_put_fix(worst->kernel >= KERNEL_MUCH, finding);
}

static int check_cores_find(const struct host *host, const struct cores *cores,
			    struct report *report)
{
	char busy[SHARE_TEXT_SIZE];
	const struct core *worst = &cores->saturated.items[0];
	size_t count = cores->saturated.count, shown = MIN(count, SHOWN_MAX), kernel = 0;
	struct thread_share shares[SHOWN_MAX] = { 0 };
	struct interrupts served = { 0 };
	const char *all_in_kernel =
		worst->kernel >= KERNEL_MOST ? " in the kernel" : ", mostly in the kernel";
	char in_kernel[64] = "";
	struct finding *finding;
	int r;

	while (kernel < count && cores->saturated.items[kernel].kernel >= KERNEL_MUCH)
		kernel++;
	if (kernel && kernel < count)
		snprintf(in_kernel, sizeof(in_kernel), ", %zu of them %sin the kernel", kernel,
			 worst->kernel >= KERNEL_MOST ? "" : "mostly ");
	for (size_t i = 0; i < shown; i++)
		shares[i].cpu = cores->saturated.items[i].cpu;
	r = threads_find(host, shares, shown);
	finding = report_find(report, "saturated_cores",
			      worst->kernel >= KERNEL_MOST   ? SEVERITY_CRITICAL
			      : worst->kernel >= KERNEL_MUCH ? SEVERITY_WARNING
							     : SEVERITY_NOTICE,
			      "%zu of %zu CPUs %s saturated%s; all CPUs together are %s busy",
			      count, cores->count, count == 1 ? "is" : "are",
			      kernel == count ? all_in_kernel : in_kernel,
			      share_format(cores->busy / cores->count / 100, busy));
	if (r < 0 || !finding)
		return -ENOMEM;
	if (interrupts_read(host->root, &served) < 0)
		served = (struct interrupts){ 0 };
	report_double(finding, "seconds", host->watched_ns / 1e9);
	json_key(&finding->numbers, "cpus");
	json_open(&finding->numbers, '[');
	for (size_t i = 0; i < shown; i++)
		check_cores_put_core(&cores->saturated.items[i], &shares[i], &served, finding);
	json_close(&finding->numbers, ']');
	if (shown < count)
		report_line(&finding->lines, "and %zu more", count - shown);
	check_cores_put_advice(worst, &shares[0], cores->busy / cores->count, finding);
	interrupts_done(&served);
	return 0;
}

/* Counts all CPUs, also offline ones, which /proc/stat lacks. Returns 0 when that is not known. */
static uint64_t count_present(const struct host *host)
{
	struct source_file file;
	uint64_t count = 0, first, last;
	char *at;

	source_file_init(&file, host->root, "/sys/devices/system/cpu/present");
	at = source_file_read(&file, 65536) == 0 ? file.text : NULL;
	while (at && isdigit((unsigned char)*at)) {
		first = last = strtoull(at, &at, 10);
		if (*at == '-')
			last = strtoull(at + 1, &at, 10);
		count += MAX(last, first) - first + 1;
		at += *at == ',';
	}
	source_file_done(&file);
	return count;
}

static int report_cores(const struct host *host, const struct cores *cores, struct report *report)
{
	uint64_t present = count_present(host);
	char busy[SHARE_TEXT_SIZE];

	share_format(cores->busy / cores->count / 100, busy);

	if (present > cores->count)
		return report_checked(report, NAME, "%zu of %llu CPUs online, %s busy",
				      cores->count, (unsigned long long)present, busy);
	return report_checked(report, NAME, "%zu CPU%s, %s busy", cores->count,
			      plural(cores->count), busy);
}

static void cores_done(struct cores *cores)
{
	array_done(&cores->saturated);
}

int check_cores(const struct host *host, struct report *report)
{
	_cleanup_(cores_done) struct cores cores = { .count = 0 };
	char lack[HOST_LACK_SIZE];
	int r;

	if (!host_has(host, "/proc/stat"))
		return report_unread(report, NAME, "%s", host_lack(host, "/proc/stat", lack));
	if (!host->watched_ns)
		return report_unread(report, NAME, "rates need two readings");
	r = measure_all(host, &cores);
	if (r < 0)
		return r;
	if (!cores.count)
		return report_unread(report, NAME, "/proc/stat does not show the time of any CPU");
	drop_usual(&cores);
	sort_cores(&cores);
	if (cores.saturated.count)
		r = check_cores_find(host, &cores, report);
	return r < 0 ? r : report_cores(host, &cores, report);
}
