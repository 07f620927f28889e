/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The CPU that served the network queue that a line names, which most drivers do not say: from who
 * knows where its interrupt went then. It is a field more of the incident, and no CPU that the line
 * itself says.
 */

#include "incidents/patterns/pattern.h"

#define QUEUE_CPU "queue_cpu"
#define QUEUE_CPU_SIZE 16

/*
 * Adds the field if the line names a queue, and find() knows the CPU of its interface or else of
 * its PCI address. The text is what the field borrows.
 */
void queue_cpu_add(struct fields *fields, char text[QUEUE_CPU_SIZE],
		   bool (*find)(void *context, const char *device, uint64_t queue,
				uint32_t *ret_cpu),
		   void *context);
