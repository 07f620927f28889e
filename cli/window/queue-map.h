/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which CPU served the queue that a line of a foreign log names, by what was recorded of the host
 * at its time. */

#include "cli/window/log-map.h"
#include "incidents/patterns/queue-cpu.h"

/*
 * Adds the field, if the line names a queue and it is known: of the recorded line, or as the map of
 * the queues was last read before, in the same boot and not long ago. The text is what the field
 * borrows.
 */
void queue_map_add(struct log_map *map, const struct log_place *place, struct fields *fields,
		   char text[QUEUE_CPU_SIZE]);
