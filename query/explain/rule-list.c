// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/rule-list.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/number.h"

/* Memory cgroups that were removed and are not gone: the thresholds of `audit` (docs/AUDIT.md). */
#define ZOMBIES_MANY 2000
#define ZOMBIES_RATIO 5
/* The share of a CPU's time that makes it the CPU of one thread, one class or one kind of code. */
#define MOSTLY 0.5
#define NEARLY_ALL 0.7
/* The least share of time in functions that visit cgroups: reclaim visits some, too. */
#define WALK_LEAST 0.3
#define ALL_BUSY 0.9
#define STEAL_LEAST 0.2
/* Quotas are read once a minute, so a stall of six seconds is a tenth of a reading. */
#define THROTTLED_LEAST 0.05
/* A job that a timer starts every ten minutes is not a loop; a unit that crashes is faster. */
#define STARTS_LEAST 3
#define STARTS_AN_HOUR 12

static const char *rule_comm_of(const struct evidence *evidence, const struct evidence_core *core)
{
	return evidence_name(evidence, core->threads[0].comm);
}

static const char *rule_leaf_of(const struct evidence *evidence, const struct evidence_core *core)
{
	return evidence_name(evidence, core->leaf);
}

/* Puts "97 % of CPU 39". */
static void rule_say_share(struct verdict *verdict, double share, const struct evidence_core *core)
{
	char shown[SHARE_TEXT_SIZE];

	VERDICT_EVIDENCE(verdict, "%s of CPU %u", share_format(share, shown), core->cpu);
}

static bool rule_has_zombies(const struct evidence *evidence)
{
	return evidence->host.dying >= ZOMBIES_MANY &&
	       !(evidence->host.tracked <= ZOMBIES_RATIO * evidence->host.in_use);
}

static enum confidence rule_zombies(const struct evidence *evidence,
				    const struct evidence_core *core, struct verdict *verdict)
{
	const struct evidence_host *host = &evidence->host;
	double walk = core->code[CODE_CGROUP_WALK], reclaim = core->code[CODE_RECLAIM];
	bool counted = !isnan(host->tracked);

	if (counted ? !rule_has_zombies(evidence) || MAX(walk, reclaim) < WALK_LEAST
		    : core->leaf_code[CODE_CGROUP_WALK] < WALK_LEAST)
		return CONFIDENCE_NONE;
	rule_say_share(verdict, MAX(walk, reclaim), core);
	VERDICT_EVIDENCE(verdict, " went into that (%s)", rule_leaf_of(evidence, core));
	if (counted)
		VERDICT_EVIDENCE(verdict, "; %.0f of %.0f tracked ones are dying", host->dying,
				 host->tracked);
	if (host->made_by)
		VERDICT_EVIDENCE(verdict, ", made by %s", evidence_name(evidence, host->made_by));
	VERDICT_NEXT(verdict,
		     "stop what makes them (perftape audit), then sysctl vm.drop_caches=3");
	return counted ? CONFIDENCE_VERY_LIKELY : CONFIDENCE_POSSIBLE;
}

static enum confidence rule_reclaim(const struct evidence *evidence,
				    const struct evidence_core *core, struct verdict *verdict)
{
	const struct evidence_host *host = &evidence->host;
	double share = core->code[CODE_DIRECT_RECLAIM];

	if (share < MOSTLY)
		return CONFIDENCE_NONE;
	rule_say_share(verdict, share, core);
	VERDICT_EVIDENCE(verdict, " freed memory for an allocation of %s",
			 rule_comm_of(evidence, core));
	if (host->stalls.now >= 10)
		VERDICT_EVIDENCE(verdict, "; %.0f such allocations per second, usually %.0f",
				 host->stalls.now, host->stalls.usual);
	VERDICT_NEXT(verdict, "raise vm.min_free_kbytes, or the memory limit of its cgroup");
	return CONFIDENCE_VERY_LIKELY;
}

static enum confidence rule_softirq(const struct evidence *evidence,
				    const struct evidence_core *core, struct verdict *verdict)
{
	if (core->softirq < MOSTLY)
		return CONFIDENCE_NONE;
	rule_say_share(verdict, core->softirq, core);
	VERDICT_EVIDENCE(verdict, " was in softirqs");
	if (core->code[CODE_NET_RX] >= MOSTLY * core->softirq)
		VERDICT_EVIDENCE(verdict, ", mostly receiving packets");
	VERDICT_EVIDENCE(verdict, " (%s)", rule_leaf_of(evidence, core));
	VERDICT_NEXT(verdict,
		     "spread the queues: ethtool -l and -x, /proc/irq/*/smp_affinity_list, RPS");
	return CONFIDENCE_VERY_LIKELY;
}

static enum confidence rule_interrupts(const struct evidence *evidence,
				       const struct evidence_core *core, struct verdict *verdict)
{
	if (core->irq < MOSTLY)
		return CONFIDENCE_NONE;
	rule_say_share(verdict, core->irq, core);
	VERDICT_EVIDENCE(verdict, " was in interrupts (%s)", rule_leaf_of(evidence, core));
	VERDICT_NEXT(verdict, "watch -d cat /proc/interrupts shows which one; move or moderate it");
	return CONFIDENCE_VERY_LIKELY;
}

static enum confidence rule_kernel_loop(const struct evidence *evidence,
					const struct evidence_core *core, struct verdict *verdict)
{
	const struct evidence_thread *thread = &core->threads[0];

	if (core->kernel < NEARLY_ALL || thread->share < NEARLY_ALL)
		return CONFIDENCE_NONE;
	VERDICT_EVIDENCE(verdict, "%s (%d) kept ", rule_comm_of(evidence, core), thread->tid);
	rule_say_share(verdict, core->kernel, core);
	VERDICT_EVIDENCE(verdict, " in the kernel, most of it in %s", rule_leaf_of(evidence, core));
	if (core->code[CODE_SPIN] >= MOSTLY)
		VERDICT_EVIDENCE(verdict, ", waiting for a lock");
	VERDICT_NEXT(verdict,
		     "look at the call path; the kernel lets nothing else run on that CPU");
	return CONFIDENCE_VERY_LIKELY;
}

static enum confidence rule_program(const struct evidence *evidence,
				    const struct evidence_core *core, struct verdict *verdict)
{
	const struct evidence_thread *thread = &core->threads[0];

	if (core->user < MOSTLY || thread->share < NEARLY_ALL)
		return CONFIDENCE_NONE;
	VERDICT_EVIDENCE(verdict, "%s (%d) used ", rule_comm_of(evidence, core), thread->tid);
	rule_say_share(verdict, thread->share, core);
	VERDICT_EVIDENCE(verdict, ", in user mode (%s); the scheduler still lets others run",
			 rule_leaf_of(evidence, core));
	VERDICT_NEXT(verdict, "chrt -p %d shows whether it has realtime priority", thread->tid);
	return CONFIDENCE_LIKELY;
}

static enum confidence rule_core(const struct evidence *evidence, const struct evidence_core *core,
				 struct verdict *verdict)
{
	char kernel[SHARE_TEXT_SIZE], share[SHARE_TEXT_SIZE];

	rule_say_share(verdict, core->busy, core);
	VERDICT_EVIDENCE(verdict, " was busy, %s in the kernel; busiest thread: %s, %s",
			 share_format(core->kernel + core->irq + core->softirq, kernel),
			 rule_comm_of(evidence, core),
			 share_format(core->thread_count ? core->threads[0].share : 0, share));
	VERDICT_NEXT(verdict, "look at the flame graph of that CPU");
	return CONFIDENCE_POSSIBLE;
}

static enum confidence rule_all_busy(const struct evidence *evidence,
				     const struct evidence_core *core, struct verdict *verdict)
{
	const struct evidence_row *machine = &evidence->machine;
	struct standing standing = row_standing(machine);

	if (evidence->cpus < 2 || machine->now < ALL_BUSY * evidence->cpus || !standing.out)
		return CONFIDENCE_NONE;
	VERDICT_EVIDENCE(verdict, "%.1f of %llu CPUs were busy", machine->now,
			 (unsigned long long)evidence->cpus);
	if (machine->chance.windows)
		VERDICT_EVIDENCE(verdict, ", usually %.1f", machine->usual);
	VERDICT_NEXT(verdict, "limit or spread the work: perftape top shows whose it is");
	return standing.tested ? CONFIDENCE_VERY_LIKELY : CONFIDENCE_LIKELY;
}

/* Returns the longest wait of a thread that overlaps the core's full time, or NULL. */
static const struct evidence_victim *rule_victim_of(const struct evidence *evidence,
						    const struct evidence_core *core)
{
	for (size_t i = 0; i < evidence->victim_count; i++) {
		const struct evidence_victim *victim = &evidence->victims[i];

		if ((!victim->has_cpu || victim->cpu == core->cpu) &&
		    victim->from_ns < core->to_ns && victim->to_ns > core->from_ns)
			return victim;
	}
	return NULL;
}

static bool rule_was_reported(const struct evidence *evidence, const char *kind)
{
	for (size_t i = 0; i < evidence->host.message_count; i++)
		if (strcmp(evidence_name(evidence, evidence->host.messages[i].kind), kind) == 0)
			return true;
	return strcmp(evidence->incident.kind, kind) == 0;
}

/* The usual scheduler would have let the victim run between two ticks of a program. */
static enum confidence rule_realtime(const struct evidence *evidence,
				     const struct evidence_core *core, struct verdict *verdict)
{
	const struct evidence_victim *victim = rule_victim_of(evidence, core);
	bool reported = rule_was_reported(evidence, "sched.rt_throttle");
	char wait[32];

	if (core->user < MOSTLY || (!victim && !reported))
		return CONFIDENCE_NONE;
	VERDICT_EVIDENCE(verdict, "%s (%d) filled CPU %u in user mode",
			 rule_comm_of(evidence, core), core->threads[0].tid, core->cpu);
	if (victim)
		VERDICT_EVIDENCE(verdict, " while %s waited %s for a CPU",
				 evidence_name(evidence, victim->name),
				 duration_format(victim->wait_ns, wait, sizeof(wait)));
	if (reported)
		VERDICT_EVIDENCE(verdict, "; the kernel reported realtime throttling");
	VERDICT_NEXT(verdict, "chrt -p %d; lower its priority, or keep the CPU of interrupts free",
		     core->threads[0].tid);
	return victim && victim->has_cpu ? CONFIDENCE_VERY_LIKELY : CONFIDENCE_LIKELY;
}

/* Samples of cpu-clock come only when interrupts are on again. */
static enum confidence rule_hidden(const struct evidence *evidence,
				   const struct evidence_core *core, struct verdict *verdict)
{
	const struct evidence_hidden *hidden = &evidence->hidden;
	struct evidence_row row = { .chance = hidden->chance };
	struct standing standing = row_standing(&row);
	char share[SHARE_TEXT_SIZE];

	if (!hidden->found || !standing.out)
		return CONFIDENCE_NONE;
	VERDICT_EVIDENCE(verdict, "CPU %u was busy, and %s of its time has no samples", hidden->cpu,
			 share_format(hidden->share, share));
	VERDICT_NEXT(verdict,
		     "interrupts were off; record the event cycles, if the machine has it");
	return standing.tested ? CONFIDENCE_VERY_LIKELY : CONFIDENCE_LIKELY;
}

static enum confidence rule_steal(const struct evidence *evidence, const struct evidence_core *core,
				  struct verdict *verdict)
{
	const struct evidence_host *host = &evidence->host;
	char most[SHARE_TEXT_SIZE], all[SHARE_TEXT_SIZE];

	if (!(host->steal_most >= STEAL_LEAST) || host->steal_usual > host->steal_most / 2)
		return CONFIDENCE_NONE;
	VERDICT_EVIDENCE(verdict, "the hypervisor took %s of CPU %u, and %s of all CPUs",
			 share_format(host->steal_most, most), host->steal_cpu,
			 share_format(host->steal_all, all));
	VERDICT_NEXT(verdict, "ask the provider, or use dedicated CPUs");
	return isnan(host->steal_usual) ? CONFIDENCE_LIKELY : CONFIDENCE_VERY_LIKELY;
}

static enum confidence rule_quota(const struct evidence *evidence, const struct evidence_core *core,
				  struct verdict *verdict)
{
	const struct evidence_named *named = evidence->host.throttled;
	char now[SHARE_TEXT_SIZE], usual[SHARE_TEXT_SIZE];

	if (!evidence->host.throttled_count || named->figure.now < THROTTLED_LEAST ||
	    named->figure.usual > named->figure.now / 2)
		return CONFIDENCE_NONE;
	VERDICT_EVIDENCE(verdict, "the CPU quota stopped %s for %s of the time",
			 evidence_name(evidence, named->name),
			 share_format(named->figure.now, now));
	if (!isnan(named->figure.usual))
		VERDICT_EVIDENCE(verdict, ", usually %s", share_format(named->figure.usual, usual));
	VERDICT_NEXT(verdict, "raise its cpu.max (cpu.cfs_quota_us), or spread its work over time");
	return CONFIDENCE_LIKELY;
}

static enum confidence rule_restarts(const struct evidence *evidence,
				     const struct evidence_core *core, struct verdict *verdict)
{
	const struct evidence_host *host = &evidence->host;
	const struct evidence_named *named = host->started;
	double hours = MAX((double)host->gauges_ns / (3600 * NSEC_PER_SEC), 1.0 / 60);
	char length[32];

	if (!host->started_count || named->figure.now < STARTS_LEAST ||
	    named->figure.now / hours < STARTS_AN_HOUR)
		return CONFIDENCE_NONE;
	VERDICT_EVIDENCE(verdict, "%s %s started at least %.0f times in %s",
			 named->container ? "containers" : "unit",
			 evidence_name(evidence, named->name), named->figure.now,
			 duration_format(host->gauges_ns, length, sizeof(length)));
	VERDICT_NEXT(verdict, "perftape audit says whether it still does; %s",
		     named->container ? "look at its exit code"
				      : "journalctl -u shows why it ends");
	return CONFIDENCE_LIKELY;
}

static enum confidence rule_device(const struct evidence *evidence,
				   const struct evidence_core *core, struct verdict *verdict)
{
	char word[FOREIGN_WORD_SIZE];

	if (evidence->incident.napi_scheduled != 0 || !*evidence->incident.kind ||
	    !evidence->samples)
		return CONFIDENCE_NONE;
	for (size_t i = 0; i < evidence->core_count; i++)
		if (evidence->cores[i].full && core_standing(evidence, &evidence->cores[i]).out)
			return CONFIDENCE_NONE;
	VERDICT_EVIDENCE(verdict, "the line says that no poll was due, and no CPU stands out");
	VERDICT_NEXT(verdict, "ethtool -S %s, the driver's version, and the provider's events",
		     *evidence->incident.ifname
			     ? foreign_shell_word(evidence->incident.ifname, word)
			     : "IF");
	return CONFIDENCE_LIKELY;
}

/* Returns whether a part of the stall is damaged. */
static bool rule_is_unread(const struct evidence *evidence)
{
	const struct coverage *coverage = &evidence->coverage;

	for (size_t i = 0; i < coverage->gaps.count; i++)
		if (coverage->gaps.items[i].unread &&
		    coverage->gaps.items[i].from_ns < evidence->stall_to_ns &&
		    coverage->gaps.items[i].to_ns > evidence->stall_from_ns)
			return true;
	return false;
}

static enum confidence rule_unrecorded(const struct evidence *evidence,
				       const struct evidence_core *core, struct verdict *verdict)
{
	if (evidence->samples)
		return CONFIDENCE_NONE;
	if (rule_is_unread(evidence)) {
		VERDICT_EVIDENCE(verdict, "the samples of this time cannot be read");
		VERDICT_NEXT(verdict, "perftape verify names the damage");
	} else {
		VERDICT_EVIDENCE(verdict, "no sample of this time exists");
		VERDICT_NEXT(verdict, "perftape segments lists what is recorded");
	}
	return CONFIDENCE_LIKELY;
}

static enum confidence rule_nothing(const struct evidence *evidence,
				    const struct evidence_core *core, struct verdict *verdict)
{
	if (evidence->core_count && evidence->cores[0].full && evidence->cores[0].recurs)
		VERDICT_EVIDENCE(verdict, "CPU %u was full with %s, as %u other times",
				 evidence->cores[0].cpu, rule_comm_of(evidence, evidence->cores),
				 evidence->cores[0].recurs);
	else if (evidence->full_cpus)
		VERDICT_EVIDENCE(verdict, "%llu CPU%s full, as in other windows of this host",
				 (unsigned long long)evidence->full_cpus,
				 evidence->full_cpus == 1 ? " was" : "s were");
	else
		VERDICT_EVIDENCE(verdict, "no CPU was full, and no row differs from usual");
	VERDICT_NEXT(verdict, "perftape spikes lists the full CPUs of the whole store");
	return CONFIDENCE_LIKELY;
}

const struct rule rules[] = {
	{ .kind = "zombie_memory_cgroups",
	  .title = "removed memory cgroups are still visited",
	  .of_core = true,
	  .accuses = true,
	  .judge = rule_zombies },
	{ .kind = "direct_reclaim",
	  .title = "a task had to free memory itself",
	  .of_core = true,
	  .accuses = true,
	  .judge = rule_reclaim },
	{ .kind = "realtime_hog",
	  .title = "a realtime thread kept others from a CPU",
	  .of_core = true,
	  .accuses = true,
	  .judge = rule_realtime },
	{ .kind = "softirq_flood",
	  .title = "softirqs filled a CPU",
	  .of_core = true,
	  .accuses = true,
	  .judge = rule_softirq },
	{ .kind = "interrupt_storm",
	  .title = "interrupts filled a CPU",
	  .of_core = true,
	  .accuses = true,
	  .judge = rule_interrupts },
	{ .kind = "kernel_loop",
	  .title = "one thread filled a CPU in the kernel",
	  .of_core = true,
	  .general = true,
	  .accuses = true,
	  .judge = rule_kernel_loop },
	{ .kind = "hidden_code",
	  .title = "code that the sampling timer cannot see filled a CPU",
	  .accuses = true,
	  .judge = rule_hidden },
	{ .kind = "hypervisor_steal",
	  .title = "the hypervisor took CPU time away",
	  .accuses = true,
	  .judge = rule_steal },
	{ .kind = "quota_throttling",
	  .title = "a CPU quota stopped a cgroup",
	  .accuses = true,
	  .judge = rule_quota },
	{ .kind = "all_cpus_busy",
	  .title = "all CPUs were busy",
	  .accuses = true,
	  .judge = rule_all_busy },
	{ .kind = "busy_thread",
	  .title = "one program used a CPU alone",
	  .of_core = true,
	  .general = true,
	  .judge = rule_program },
	{ .kind = "full_cpu",
	  .title = "a CPU had no idle time",
	  .of_core = true,
	  .general = true,
	  .judge = rule_core },
	{ .kind = "crash_loop",
	  .title = "a unit or container starts again and again",
	  .accuses = true,
	  .judge = rule_restarts },
	{ .kind = "device_or_interrupt",
	  .title = "an interrupt was lost, or the device did not complete",
	  .accuses = true,
	  .judge = rule_device },
	{ .kind = "not_recorded",
	  .title = "the stall is not recorded",
	  .last = true,
	  .judge = rule_unrecorded },
	{ .kind = "nothing_unusual",
	  .title = "the CPUs did what they usually do",
	  .last = true,
	  .judge = rule_nothing },
	{ 0 },
};
