// SPDX-License-Identifier: GPL-2.0-only
#include "tape/stack-class.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum mark {
	MARK_NONE,
	/* The function returns from an interrupt. */
	MARK_BACK,
	MARK_TIMER,
	MARK_IRQ,
	MARK_SOFTIRQ,
};

enum state {
	STATE_THREAD,
	STATE_TIMER,
	STATE_IRQ,
	STATE_SOFTIRQ,
};

struct word {
	const char *name;
	enum mark mark;
};

/*
 * Sorted as by strcmp(). Covers x86 before and since 5.8, and arm64 before and since 5.14. kallsyms
 * of 4.x and 5.x prefers the name __softirqentry_text_start for __do_softirq. A threaded interrupt
 * handler counts as an interrupt. irq_exit() is absent, because the entry below it already decides.
 * Functions that begin with "perf_" under an interrupt are the sampler's.
 */
static const struct word words[] = {
	{ "__do_softirq", MARK_SOFTIRQ },
	{ "__el1_irq", MARK_IRQ },
	{ "__irqentry_text_start", MARK_IRQ },
	{ "__schedule", MARK_BACK },
	{ "__softirqentry_text_start", MARK_SOFTIRQ },
	{ "apic_timer_interrupt", MARK_TIMER },
	{ "arm64_exit_to_user_mode", MARK_BACK },
	{ "arm64_preempt_schedule_irq", MARK_BACK },
	{ "asm_common_interrupt", MARK_IRQ },
	{ "asm_exc_nmi", MARK_IRQ },
	{ "call_function_interrupt", MARK_IRQ },
	{ "call_function_single_interrupt", MARK_IRQ },
	{ "call_on_irq_stack", MARK_IRQ },
	{ "common_interrupt", MARK_IRQ },
	{ "do_IRQ", MARK_IRQ },
	{ "do_interrupt_handler", MARK_IRQ },
	{ "do_notify_resume", MARK_BACK },
	{ "el0_fiq", MARK_IRQ },
	{ "el0_interrupt", MARK_IRQ },
	{ "el0_irq", MARK_IRQ },
	{ "el0t_32_irq", MARK_IRQ },
	{ "el0t_64_fiq", MARK_IRQ },
	{ "el0t_64_irq", MARK_IRQ },
	{ "el0t_64_irq_handler", MARK_IRQ },
	{ "el1_interrupt", MARK_IRQ },
	{ "el1_irq", MARK_IRQ },
	{ "el1h_64_fiq", MARK_IRQ },
	{ "el1h_64_irq", MARK_IRQ },
	{ "el1h_64_irq_handler", MARK_IRQ },
	{ "exc_nmi", MARK_IRQ },
	{ "exit_to_user_mode", MARK_BACK },
	{ "exit_to_user_mode_loop", MARK_BACK },
	{ "exit_to_user_mode_prepare", MARK_BACK },
	{ "exit_to_usermode_loop", MARK_BACK },
	{ "gic_handle_irq", MARK_IRQ },
	{ "handle_softirqs", MARK_SOFTIRQ },
	{ "hrtimer_interrupt", MARK_TIMER },
	{ "hyperv_callback_vector", MARK_IRQ },
	{ "irq_forced_thread_fn", MARK_IRQ },
	{ "irq_thread_fn", MARK_IRQ },
	{ "irq_work_interrupt", MARK_IRQ },
	{ "irqentry_exit", MARK_BACK },
	{ "irqentry_exit_cond_resched", MARK_BACK },
	{ "irqentry_exit_to_user_mode", MARK_BACK },
	{ "nmi", MARK_IRQ },
	{ "preempt_schedule_irq", MARK_BACK },
	{ "prepare_exit_to_usermode", MARK_BACK },
	{ "raw_irqentry_exit_cond_resched", MARK_BACK },
	{ "reschedule_interrupt", MARK_IRQ },
	{ "ret_from_intr", MARK_IRQ },
	{ "retint_user", MARK_BACK },
	{ "schedule", MARK_BACK },
	{ "smp_apic_timer_interrupt", MARK_TIMER },
	{ "smp_call_function_interrupt", MARK_IRQ },
	{ "smp_call_function_single_interrupt", MARK_IRQ },
	{ "smp_reschedule_interrupt", MARK_IRQ },
	{ "swapgs_restore_regs_and_return_to_usermode", MARK_BACK },
	{ "task_work_run", MARK_BACK },
	{ "xen_evtchn_do_upcall", MARK_IRQ },
	{ "xen_hvm_callback_vector", MARK_IRQ },
	{ "xen_pv_evtchn_do_upcall", MARK_IRQ },
};

static int compare_word(const void *key, const void *word)
{
	return strcmp(key, ((const struct word *)word)->name);
}

static bool stack_class_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Compilers append suffixes to names, such as ".constprop.0" and ".cold". */
static enum mark mark_of(const char *symbol)
{
	char name[64];
	size_t size = strcspn(symbol, ".");
	const struct word *word;

	if (stack_class_begins(symbol, "asm_sysvec_") || stack_class_begins(symbol, "sysvec_"))
		return strstr(symbol, "apic_timer") ? MARK_TIMER : MARK_IRQ;
	if (stack_class_begins(symbol, "perf_"))
		return MARK_BACK;
	if (size >= sizeof(name))
		return MARK_NONE;
	snprintf(name, sizeof(name), "%.*s", (int)size, symbol);
	word = bsearch(name, words, ARRAY_SIZE(words), sizeof(*words), compare_word);
	return word ? word->mark : MARK_NONE;
}

/* Returns the state inside a function with this mark, given the state of its caller. */
static enum state stack_class_step(enum state state, enum mark mark)
{
	if (mark == MARK_NONE || state == STATE_SOFTIRQ)
		return state;
	switch (mark) {
	case MARK_BACK:
		return STATE_THREAD;
	/* on Xen, the timer arrives like any other interrupt */
	case MARK_TIMER:
		return STATE_TIMER;
	case MARK_IRQ:
		/* an interrupt entry that the timer's interrupt calls still belongs to the timer */
		return state == STATE_TIMER ? STATE_TIMER : STATE_IRQ;
	default:
		return STATE_SOFTIRQ;
	}
}

static int mark_frames(struct stack_class_marks *marks)
{
	const struct tape *tape = marks->tape;
	size_t strings = strings_count(&tape->strings);
	static const uint8_t unknown = UINT8_MAX;

	if (array_reserve(&marks->symbols, strings) < 0 ||
	    array_reserve(&marks->frames, tape->frames.count) < 0)
		return -ENOMEM;
	memset(marks->symbols.items, unknown, strings);
	for (size_t i = 0; i < tape->frames.count; i++) {
		uint32_t symbol = tape->frames.items[i].symbol;

		marks->frames.items[i] = MARK_NONE;
		if (!symbol || !stack_class_is_kernel(tape, i))
			continue;
		if (marks->symbols.items[symbol] == unknown)
			marks->symbols.items[symbol] = mark_of(tape_string(tape, symbol));
		marks->frames.items[i] = marks->symbols.items[symbol];
	}
	return 0;
}

int stack_class_marks_make(struct stack_class_marks *marks, const struct tape *tape)
{
	marks->tape = tape;
	if (mark_frames(marks) < 0 ||
	    array_reserve(&marks->stacks, MAX(tape->stacks.count, (size_t)1)) < 0)
		return -ENOMEM;
	marks->stacks.items[0] = STATE_THREAD;
	for (size_t i = 1; i < tape->stacks.count; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];

		marks->stacks.items[i] = stack_class_step(marks->stacks.items[stack->parent],
							  marks->frames.items[stack->frame]);
	}
	return 0;
}

void stack_class_marks_done(struct stack_class_marks *marks)
{
	array_done(&marks->symbols);
	array_done(&marks->frames);
	array_done(&marks->stacks);
}

enum stack_class_kind stack_class_kind(const struct stack_class_marks *marks, bool idle_thread,
				       uint32_t stack, uint32_t frame)
{
	enum state state = stack_class_step(marks->stacks.items[stack], marks->frames.items[frame]);

	if (state == STATE_SOFTIRQ || state == STATE_IRQ || (state == STATE_TIMER && !idle_thread))
		return STACK_CLASS_IRQ;
	if (idle_thread)
		return STACK_CLASS_IDLE;
	return stack_class_is_kernel(marks->tape, frame) ? STACK_CLASS_KERNEL : STACK_CLASS_USER;
}

bool stack_class_is_idle_comm(const char *comm)
{
	size_t rest = strlen("swapper/");

	if (strcmp(comm, "swapper") == 0)
		return true;
	return stack_class_begins(comm, "swapper/") && comm[rest] &&
	       strspn(comm + rest, "0123456789") == strlen(comm + rest);
}

static uint64_t stack_class_number_of(const struct tape *tape, const char *fact)
{
	return strtoull(tape_fact(tape, fact), NULL, 10);
}

uint64_t stack_class_host_cpus(const struct tape *tape)
{
	return stack_class_number_of(tape, "cpus");
}

uint64_t stack_class_sample_ns(const struct tape *tape, uint64_t all_samples)
{
	uint64_t frequency = stack_class_number_of(tape, "frequency"),
		 period = stack_class_number_of(tape, "period");
	uint64_t cpus = MAX(stack_class_host_cpus(tape), 1ull);
	const char *event = tape_fact(tape, "event");

	if (frequency)
		return NSEC_PER_SEC / frequency;
	if (period &&
	    (stack_class_begins(event, "cpu-clock") || stack_class_begins(event, "task-clock")))
		return period;
	return all_samples ? (tape->end_ns - tape->begin_ns) / all_samples * cpus : 0;
}
