/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the CPU that serves each queue of a network device at present, so that a message that names
 * a queue can name a CPU.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct interrupt {
	/* The driver's name for the device: "eth0", its PCI address, "virtio0". */
	char device[32];
	/* The device's interface, or "". */
	char ifname[32];
	/* The device's address on its bus: "0000:00:05.0", "virtio0"; or "". */
	char address[32];
	uint32_t queue;
	bool sends;
	bool receives;
	uint32_t number;
	uint32_t cpu;
};

struct interrupts {
	/* In the order of /proc/interrupts. */
	array_of(struct interrupt) list;
};

void interrupts_done(struct interrupts *interrupts);

/*
 * Reads /proc/interrupts below the root, and the CPU of each interrupt of a queue. Omits interrupts
 * without a known CPU. Returns 0, -ENOMEM, or the error of opening or reading the file.
 */
int interrupts_read(const char *root, struct interrupts *ret_interrupts);

/*
 * Finds the CPU that serves a transmit queue. `device` is the name of an interface or the address
 * of a device. Returns false if the CPU is unknown.
 */
bool interrupts_find(const struct interrupts *interrupts, const char *device, uint64_t queue,
		     uint32_t *ret_cpu);

/*
 * Parses a driver's name for an interrupt into device, queue and direction. Returns false if the
 * name does not belong to a queue.
 */
bool interrupts_parse_name(const char *name, struct interrupt *ret_interrupt);
