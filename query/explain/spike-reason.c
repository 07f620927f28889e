// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/spike-reason.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/explain/code-kinds.h"

/* Shares of a spike's time. */
#define MOSTLY 0.5
#define NEARLY_ALL 0.7

static bool spike_function_is(const struct spikes *spikes, const struct spike *spike,
			      enum code_kind kind)
{
	uint32_t function = spike->leader.function ? spike->leader.function : spike->function;

	return code_kinds_of(strings_at(&spikes->names, function)) & 1u << kind;
}

/* The first reason that fits; the most special ones come first. */
static const char *spike_reason_of(const struct spikes *spikes, const struct spike *spike)
{
	double kernel = spike->kernel + spike->irq;

	if (spike->unseen >= MOSTLY * spike->busy)
		return "the sampling timer cannot see the code: interrupts were off";
	if (spike_function_is(spikes, spike, CODE_CGROUP_WALK))
		return "it visits memory cgroups one by one; perftape audit counts them";
	if (spike_function_is(spikes, spike, CODE_DIRECT_RECLAIM) ||
	    spike_function_is(spikes, spike, CODE_RECLAIM))
		return "it frees memory";
	if (spike_function_is(spikes, spike, CODE_COMPACTION))
		return "it moves memory to make large pages";
	if (spike_function_is(spikes, spike, CODE_SPIN))
		return "it waits for a lock of the kernel";
	if (spike->irq >= MOSTLY)
		return spike_function_is(spikes, spike, CODE_NET_RX) ? "it receives packets"
								     : "interrupts and softirqs";
	if (spike->crowded >= MOSTLY)
		return "not a matter of this CPU: the whole machine had work";
	if (kernel >= NEARLY_ALL && spike->leader.threads <= 1)
		return "one thread stays in the kernel, which lets nothing else run";
	if (kernel >= NEARLY_ALL)
		return "several threads of one name stay in the kernel";
	if (kernel < MOSTLY && spike->leader.share >= NEARLY_ALL)
		return "a program computes; the scheduler still lets others run";
	return "several threads share the CPU";
}

/* Returns how many spikes of the list are of the same thread name. */
static size_t spikes_alike(const struct spikes *spikes, const struct spike *given)
{
	size_t alike = 0;

	for (size_t i = 0; i < spikes->list.count; i++)
		alike += spikes->list.items[i].leader.comm == given->leader.comm;
	return alike;
}

int spike_reasons_set(struct spikes *spikes)
{
	for (size_t i = 0; i < spikes->list.count; i++) {
		struct spike *spike = &spikes->list.items[i];
		size_t alike = spikes_alike(spikes, spike);
		char text[160];
		int size = snprintf(text, sizeof(text), "%s", spike_reason_of(spikes, spike));

		if (spike->leader.comm && alike > 1)
			size += snprintf(text + size, sizeof(text) - size,
					 "; %zu spikes here are of this name", alike);
		if (strings_add(&spikes->names, text, size, &spike->reason) < 0)
			return -ENOMEM;
	}
	return 0;
}
