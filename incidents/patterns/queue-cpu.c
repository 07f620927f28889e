// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/patterns/queue-cpu.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "incidents/patterns/text-cursor.h"

#define DEVICE_MAX 64

static bool device_of(const struct fields *fields, const char *name, char device[DEVICE_MAX])
{
	const struct field *field = fields_find(fields, name);

	if (!field || !field->size || field->size >= DEVICE_MAX)
		return false;
	memcpy(device, field->value, field->size);
	device[field->size] = 0;
	return true;
}

void queue_cpu_add(struct fields *fields, char text[QUEUE_CPU_SIZE],
		   bool (*find)(void *context, const char *device, uint64_t queue,
				uint32_t *ret_cpu),
		   void *context)
{
	static const char *const names[] = { "ifname", "bdf" };
	const struct field *field = fields_find(fields, "qid");
	struct text_cursor cursor = { field ? field->value : NULL,
				      field ? field->value + field->size : NULL };
	char device[DEVICE_MAX];
	uint64_t queue;
	uint32_t cpu;

	if (!field || !take_number(&cursor, 1, 9, &queue) || fields->count == FIELDS_MAX ||
	    fields_find(fields, QUEUE_CPU))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!device_of(fields, names[i], device) || !find(context, device, queue, &cpu))
			continue;
		snprintf(text, QUEUE_CPU_SIZE, "%u", cpu);
		fields->list[fields->count++] = (struct field){
			.name = QUEUE_CPU, .value = text, .size = strlen(text), .number = true
		};
		return;
	}
}
