// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/incident-words.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"

/* The begin of a kind's name, and what such an incident means. The first match counts. */
static const struct {
	const char *kind, *what, *means;
} meanings[] = {
	{ "ena.tx_stall", "ENA Tx stall", NULL },
	{ "ena.napi_starved", "ENA poll starved",
	  "the interrupt came, the poll did not run: a CPU was starved" },
	{ "ena.tx_lost", "ENA lost Tx completions", NULL },
	{ "ena.tx_missed", "ENA late Tx completion", NULL },
	{ "ena.tx_timeout", "ENA Tx timeout", NULL },
	{ "ena.keepalive", "ENA keep-alive lost",
	  "the driver saw no sign of life for six seconds: a starved CPU or the device" },
	{ "ena.admin", "ENA admin queue stopped",
	  "a command got no answer: the device failed, or a CPU did not take the interrupt" },
	{ "ena.msix", "ENA interrupt lost", "an interrupt never came: not a matter of CPU time" },
	{ "ena.", "ENA reset", "the driver reset the device; the lines before say why" },
	{ "net.tx_watchdog", "network transmit timeout", NULL },
	{ "cpu.soft_lockup", "soft lockup",
	  "one thread kept a CPU in the kernel and let nothing else run" },
	{ "cpu.hard_lockup", "hard lockup", "a CPU did not even take interrupts" },
	{ "task.hung", "hung task",
	  "a thread waited without running: for a lock or for a disk, rarely for a CPU" },
	{ "rcu.", "RCU stall", "a CPU did not pass through a quiet state, or its thread starved" },
	{ "wq.", "workqueue stall", "work items waited for a CPU, or kept one" },
	{ "sched.rt_throttle", "realtime throttling",
	  "realtime threads used their whole share; other threads waited" },
	{ "nohz.softirq", "softirq left pending", "a softirq waited while its CPU went idle" },
	{ "hrtimer.", "late timer", "an interrupt took long, or the hypervisor took the CPU away" },
	{ "clk.", "clock problem", "often a sign that the hypervisor took CPUs away" },
	{ "smp.", "CPU did not answer", "a CPU did not take an interrupt from another CPU" },
	{ "oom.", "out of memory", "the kernel killed a process to free memory" },
	{ "mm.", "allocation problem", "the kernel could not allocate memory in time" },
	{ "nvme.", "disk timeout", "a disk did not answer, or its interrupt was late" },
	{ "blk.", "disk error", "a disk reported an error" },
	{ "gpu.", "GPU error", "the GPU's driver reported an error" },
	{ "hw.", "hardware report", "the hardware reported a fault" },
	{ "mark", "mark", "a person set it with perftape mark" },
};

static bool words_begin(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Without its own meaning, a stall of a transmit queue depends on what the poll did. */
static const char *words_of_poll(const struct evidence_incident *incident)
{
	if (incident->napi_scheduled > 0)
		return "the interrupt came, the poll did not run (napi scheduled: 1): starved CPU";
	if (incident->napi_scheduled == 0)
		return "no poll was due (napi scheduled: 0): a lost interrupt or the device";
	return "a starved CPU, a lost interrupt or the device; the line does not say which";
}

static void words_put_meaning(const struct evidence_incident *incident, bool what,
			      struct buffer *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
		if (!words_begin(incident->kind, meanings[i].kind))
			continue;
		buffer_text(text, what		      ? meanings[i].what
				  : meanings[i].means ? meanings[i].means
						      : words_of_poll(incident));
		return;
	}
	buffer_text(text, what ? incident->kind : "the kernel's line says what happened");
}

/* Puts "queue 5 of eth0 (0000:20:03.0)", as far as it is known. */
static void words_put_device(const struct evidence_incident *incident, struct buffer *text)
{
	const char *name = *incident->ifname ? incident->ifname : incident->device;

	if (incident->has_queue)
		buffer_printf(text, ", queue %" PRIu64, incident->queue);
	if (*name)
		buffer_printf(text, " of %s", name);
	if (*incident->ifname && *incident->device &&
	    strcmp(incident->ifname, incident->device) != 0)
		buffer_printf(text, " (%s)", incident->device);
	if (*incident->comm)
		buffer_printf(text, " of %s", incident->comm);
}

static void words_put_cpu(const struct evidence_incident *incident, struct buffer *text)
{
	if (incident->cpu_source == EVIDENCE_CPU_LINE)
		buffer_printf(text, " The line names CPU %u.", incident->cpu);
	else if (incident->cpu_source == EVIDENCE_CPU_INTERRUPTS)
		buffer_printf(text, " CPU %u serves the queue: it takes its interrupt.",
			      incident->cpu);
	else if (incident->has_queue)
		buffer_text(text, " The CPU that serves the queue is not known.");
}

void incident_words_put(const struct evidence *evidence, struct buffer *text)
{
	const struct evidence_incident *incident = &evidence->incident;
	uint64_t stall_ns = evidence->stall_to_ns - evidence->stall_from_ns;
	char length[32];

	duration_format(stall_ns, length, sizeof(length));
	if (!*incident->kind) {
		buffer_printf(text, "no incident of the kernel's log; the answer is about %s.",
			      length);
		return;
	}
	words_put_meaning(incident, true, text);
	words_put_device(incident, text);
	buffer_printf(text, incident->has_start ? ", stalled for %s" : ", within %s", length);
	if (incident->resets)
		buffer_printf(text, ", %" PRIu64 " reset%s", incident->resets,
			      plural(incident->resets));
	buffer_text(text, ": ");
	words_put_meaning(incident, false, text);
	buffer_u8(text, '.');
	words_put_cpu(incident, text);
}
