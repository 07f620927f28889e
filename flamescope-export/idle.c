// SPDX-License-Identifier: GPL-2.0-only
#include "flamescope-export/idle.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const loop_words[] = { "cpuidle",
					  "cpu_idle",
					  "cpu_bringup_and_idle",
					  "native_safe_halt",
					  "xen_hypercall_sched_op",
					  "xen_hypercall_vcpu_op" };

static const char *const timer_words[] = { "perf_", "hrtimer", "apic_timer_interrupt", "irq_work" };

/*
 * irq_exit is not in this list, because the sampler's own interrupt ends with it, too. A stack with
 * irq_exit counts as an interrupt only if it also contains a word of this list, or a softirq.
 */
static const char *const interrupt_words[] = { "sysvec", "common_interrupt", "do_IRQ",
					       "handle_irq" };

static bool has_word(const char *symbol, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(symbol, words[i]))
			return true;
	return false;
}

bool idle_comm(const char *comm)
{
	return strstr(comm, "swapper");
}

unsigned int idle_marks(const char *symbol)
{
	unsigned int marks = 0;

	if (has_word(symbol, loop_words, ARRAY_SIZE(loop_words)))
		marks |= IDLE_MARK_LOOP;
	if (strstr(symbol, "softirq"))
		marks |= IDLE_MARK_SOFTIRQ;
	if (has_word(symbol, timer_words, ARRAY_SIZE(timer_words)))
		marks |= IDLE_MARK_TIMER;
	else if (has_word(symbol, interrupt_words, ARRAY_SIZE(interrupt_words)))
		marks |= IDLE_MARK_INTERRUPT;
	return marks;
}

/*
 * A softirq is work under any interrupt, even the sampler's. An interrupt alone is work unless the
 * stack also shows the sampling timer: on Xen, that timer arrives as an ordinary interrupt.
 */
bool idle_hides_work(unsigned int marks)
{
	if (!(marks & IDLE_MARK_LOOP))
		return false;
	if (marks & IDLE_MARK_SOFTIRQ)
		return true;
	return (marks & IDLE_MARK_INTERRUPT) && !(marks & IDLE_MARK_TIMER);
}
