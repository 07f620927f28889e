/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds the CPU that served the queue of a log line, from recorded gauges and lines. */

#include "cli/window/log-map.h"
#include "incidents/patterns/queue-cpu.h"

/*
 * Adds the CPU as a field if the line names a queue whose CPU is known. The CPU comes from the
 * recorded line, or from the map of queues that the recorder read shortly before in the same boot.
 * The field borrows `text`.
 */
void queue_map_add(struct log_map *map, const struct log_place *place, struct fields *fields,
		   char text[QUEUE_CPU_SIZE]);
