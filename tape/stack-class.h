/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What a CPU did when a sample was taken: nothing, a program, the kernel for one, or an interrupt
 * that had nothing to do with it.
 *
 * A stack with an interrupt's entry in it is not an interrupt's time for that: a thread that is
 * preempted goes on from there, as
 * asm_sysvec_apic_timer_interrupt;irqentry_exit_to_user_mode;schedule;... So a stack is read from
 * its outermost function on: an entry makes it an interrupt's, what returns from one makes it the
 * thread's again, and a softirq lasts. Only the kernel's functions count.
 *
 * Of the idle thread, all is idle but interrupts; where only the timer's entry is seen, it is the
 * one that takes the samples.
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

static inline uint64_t stack_class_work_ns(const struct stack_class *load)
{
	return load->ns[STACK_CLASS_USER] + load->ns[STACK_CLASS_KERNEL] +
	       load->ns[STACK_CLASS_IRQ];
}

static inline void stack_class_add(struct stack_class *load, const struct stack_class *other)
{
	for (int i = 0; i < STACK_CLASS_KINDS; i++)
		load->ns[i] += other->ns[i];
}

/* What a tape's stacks and frames say; zeroed before the first tape, and kept for the next one. */
struct stack_class_marks {
	const struct tape *tape;
	array_of(uint8_t) symbols, frames, stacks;
};

/* 0 or -ENOMEM. The tape is borrowed. */
int stack_class_marks_make(struct stack_class_marks *marks, const struct tape *tape);
void stack_class_marks_done(struct stack_class_marks *marks);
enum stack_class_kind stack_class_kind(const struct stack_class_marks *marks, bool idle_thread,
				       uint32_t stack, uint32_t frame);

static inline bool stack_class_is_kernel(const struct tape *tape, uint32_t frame)
{
	return tape->modules.items[tape->frames.items[frame].module].kind == TAPE_MODULE_KERNEL;
}

/* The idle thread by its name, where no more is known of it than that. */
bool stack_class_is_idle_comm(const char *comm);

/*
 * How much CPU time a sample of the tape stands for. all_samples is how many its whole segment has:
 * where the event does not say how often it samples, it is as if the CPUs had been busy all the
 * time.
 */
uint64_t stack_class_sample_ns(const struct tape *tape, uint64_t all_samples);

/* How many CPUs were recorded; 0 where the tape does not say. */
uint64_t stack_class_host_cpus(const struct tape *tape);
