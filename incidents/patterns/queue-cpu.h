/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds the CPU that served the network queue of a line. Most drivers do not print this CPU. The CPU
 * comes from records of which CPU received the queue's interrupt at that time. It has its own
 * field, because a line may also name a CPU itself.
 */

#include "incidents/patterns/pattern.h"

#define QUEUE_CPU "queue_cpu"
#define QUEUE_CPU_SIZE 16

/*
 * Adds the field if the line names a queue, and find() knows the CPU for the line's interface or
 * PCI address. The field points to `text`.
 */
void queue_cpu_add(struct fields *fields, char text[QUEUE_CPU_SIZE],
		   bool (*find)(void *context, const char *device, uint64_t queue,
				uint32_t *ret_cpu),
		   void *context);
