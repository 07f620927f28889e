/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which CPU serves which queue of which network device, as the kernel has it now: a message that
 * names a queue is to name a CPU. */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct interrupt {
	/* as its driver named it: "eth0", its PCI address, "virtio0" */
	char device[32];
	/* its interface, or "" */
	char ifname[32];
	/* on its bus: "0000:00:05.0", "virtio0"; or "" */
	char address[32];
	uint32_t queue;
	bool sends;
	bool receives;
	uint32_t number;
	uint32_t cpu;
};

struct interrupts {
	/* in the order of the file */
	array_of(struct interrupt) list;
};

void interrupts_done(struct interrupts *interrupts);

/*
 * Reads /proc/interrupts below the root, and where each interrupt of a queue goes. Those that go
 * nowhere are left out. 0; -ENOMEM; what opening and reading the file said.
 */
int interrupts_read(const char *root, struct interrupts *ret_interrupts);

/* The CPU that serves a transmit queue of an interface, or of what has that address. False when it
 * is not known, or is not one alone. */
bool interrupts_find(const struct interrupts *interrupts, const char *device, uint64_t queue,
		     uint32_t *ret_cpu);

/* What the name that a driver gave an interrupt says of it: device, queue and what it does. False
 * when it is of no queue. */
bool interrupts_parse_name(const char *name, struct interrupt *ret_interrupt);
