/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The CPU that served the network queue which a line names. Most drivers do not print it; it comes
 * from records of where the queue's interrupt was delivered at that time. It is a field of its own,
 * apart from the CPU that the line itself names.
 */

#include "incidents/patterns/pattern.h"

#define QUEUE_CPU "queue_cpu"
#define QUEUE_CPU_SIZE 16

/*
 * Adds the field if the line names a queue and find() knows the CPU for its interface or its PCI
 * address. The field points to `text`.
 */
void queue_cpu_add(struct fields *fields, char text[QUEUE_CPU_SIZE],
		   bool (*find)(void *context, const char *device, uint64_t queue,
				uint32_t *ret_cpu),
		   void *context);
