/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Classifies what a CPU did when a sample was taken: nothing, a program, the kernel for a program,
 * or an interrupt.
 *
 * An interrupt's entry in a stack does not prove that the time belongs to the interrupt. A
 * preempted thread goes on from there, as in
 * asm_sysvec_apic_timer_interrupt;irqentry_exit_to_user_mode;schedule. So the classifier reads a
 * stack from its outermost function. An entry makes the stack an interrupt's. A function that
 * returns from an interrupt makes the stack the thread's again. The stack of a softirq remains a
 * softirq's. Only functions of the kernel count.
 *
 * In the idle thread, everything except interrupts is idle. If only the timer's entry is visible
 * there, the interrupt is the one that takes the samples, and the CPU was idle.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tape/tape.h"

enum stack_class_kind {
	STACK_CLASS_IDLE,
	STACK_CLASS_USER,
	STACK_CLASS_KERNEL,
	STACK_CLASS_IRQ,
};
#define STACK_CLASS_KINDS 4

/* CPU time by kind. */
struct stack_class {
	uint64_t ns[STACK_CLASS_KINDS];
};

static inline uint64_t stack_class_work_ns(const struct stack_class *times)
{
	return times->ns[STACK_CLASS_USER] + times->ns[STACK_CLASS_KERNEL] +
	       times->ns[STACK_CLASS_IRQ];
}

static inline void stack_class_add(struct stack_class *times, const struct stack_class *other)
{
	for (int i = 0; i < STACK_CLASS_KINDS; i++)
		times->ns[i] += other->ns[i];
}

/*
 * The marks of a tape's stacks and frames. Zeroed before the first tape; may be used again for the
 * next one.
 */
struct stack_class_marks {
	const struct tape *tape;
	array_of(uint8_t) symbols, frames, stacks;
};

/* Computes the marks of a tape, which it borrows. Returns 0 or -ENOMEM. */
int stack_class_marks_make(struct stack_class_marks *marks, const struct tape *tape);
void stack_class_marks_done(struct stack_class_marks *marks);
enum stack_class_kind stack_class_kind(const struct stack_class_marks *marks, bool idle_thread,
				       uint32_t stack, uint32_t frame);

static inline bool stack_class_is_kernel(const struct tape *tape, uint32_t frame)
{
	return tape->modules.items[tape->frames.items[frame].module].kind == TAPE_MODULE_KERNEL;
}

/* Tells by its name whether a thread is the idle thread, for callers that know only the name. */
bool stack_class_is_idle_comm(const char *comm);

/*
 * Returns how much CPU time a sample of the tape stands for. `all_samples` is the number of samples
 * in the whole segment. If the event does not state its frequency, the function assumes that the
 * CPUs were busy all the time.
 */
uint64_t stack_class_sample_ns(const struct tape *tape, uint64_t all_samples);

/* Returns the number of recorded CPUs, or 0 if the tape does not state it. */
uint64_t stack_class_host_cpus(const struct tape *tape);
