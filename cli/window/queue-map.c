// SPDX-License-Identifier: GPL-2.0-only
#include "cli/window/queue-map.h"

#include <stdio.h>

#include "base/clock.h"

/*
 * A value is valid for this time. The recorder reads the map of queues once a minute, and may take
 * minutes to start again.
 */
#define MAP_NS (300 * NSEC_PER_SEC)

/* If the time of a line is less certain than this, another CPU may have served the queue then. */
#define SURE_NS (60 * NSEC_PER_SEC)

struct lookup {
	struct log_map *map;
	const struct log_place *place;
};

static const struct tape_gauge *find_gauge(const struct tape *tape, const char *name)
{
	for (size_t i = 0; i < tape->gauges.count; i++)
		if (strcmp(tape_string(tape, tape->gauges.items[i].name), name) == 0)
			return &tape->gauges.items[i];
	return NULL;
}

/* Finds the gauge's last value before a moment of the wall clock. */
static bool queue_map_value_at(const struct tape *tape, const char *name, uint64_t realtime_ns,
			       uint32_t *ret_cpu)
{
	const struct tape_gauge *gauge = find_gauge(tape, name);

	for (uint32_t i = gauge ? gauge->count : 0; i-- > 0;) {
		const struct tape_point *point = &tape->points.items[gauge->first + i];
		uint64_t time_ns = tape_to_realtime(tape, point->time_ns, NULL);

		if (time_ns > realtime_ns)
			continue;
		*ret_cpu = point->value;
		return time_ns + MAP_NS >= realtime_ns && point->value >= 0;
	}
	return false;
}

static bool find_in(struct log_map *map, const struct store_segment *segment, const char *device,
		    uint64_t queue, uint64_t realtime_ns, uint32_t *ret_cpu)
{
	char name[128];

	if (!log_map_load(map, segment))
		return false;
	snprintf(name, sizeof(name), "%s/%s/tx%llu_cpu", strchr(device, ':') ? "pci" : "net",
		 device, (unsigned long long)queue);
	return queue_map_value_at(map->tape, name, realtime_ns, ret_cpu);
}

/*
 * Searches the segment that contains the moment, and the earlier segments whose last value is still
 * valid then.
 */
static bool queue_map_find(void *context, const char *device, uint64_t queue, uint32_t *ret_cpu)
{
	struct lookup *lookup = context;
	const struct store_segments *segments = &lookup->map->segments;
	uint64_t time_ns = lookup->place->moment.realtime_ns;

	for (size_t i = segments->list.count; i-- > 0;) {
		const struct store_segment *segment = &segments->list.items[i];

		if (segment->begin_ns > time_ns)
			continue;
		if (segment->end_ns + MAP_NS < time_ns)
			break;
		if (*segment->damage || (*lookup->place->boot_id &&
					 !same_boot(segment->boot_id, lookup->place->boot_id)))
			continue;
		if (find_in(lookup->map, segment, device, queue, time_ns, ret_cpu))
			return true;
	}
	return false;
}

void queue_map_add(struct log_map *map, const struct log_place *place, struct fields *fields,
		   char text[QUEUE_CPU_SIZE])
{
	struct lookup lookup = { map, place };

	if (map->reader && place->moment.has_time && place->moment.error_ns <= SURE_NS)
		queue_cpu_add(fields, text, queue_map_find, &lookup);
}
