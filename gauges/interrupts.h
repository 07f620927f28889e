/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which CPU serves which queue of which network device, as the kernel has it now: a message that names a queue is to name a CPU. */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct interrupt {
	char device[32]; /* "eth0", or the PCI address where drivers name their interrupts by it */
	uint32_t queue;
	bool sends;
	bool receives;
	uint32_t number;
	uint32_t cpu;
};

struct interrupts {
	array_of(struct interrupt) list; /* in the order of the file */
};

void interrupts_done(struct interrupts *interrupts);

/*
 * Reads /proc/interrupts below the root, and where each interrupt of a queue goes. Those that go nowhere are left out. 0; -ENOMEM; what
 * opening and reading the file said.
 */
int interrupts_read(const char *root, struct interrupts *ret_interrupts);

/* The CPU that serves a device's transmit queue. False when it is not known, or is not one alone. */
bool interrupts_find(
	const struct interrupts *interrupts, const char *device, uint64_t queue, uint32_t *ret_cpu);

/* What the name that a driver gave an interrupt says of it: all but the number and the CPU. False when it is of no queue. */
bool interrupts_parse_name(const char *name, struct interrupt *ret_interrupt);
