// SPDX-License-Identifier: GPL-2.0-only
#include "tape/tape-events.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

int tape_add_event(struct tape *tape, const struct tape_event *event, const char *name)
{
	struct tape_event row = *event;

	row.fields = (struct tape_fields){ .first = tape->fields.count };
	if (strings_add(&tape->strings, name, strlen(name), &row.name) < 0)
		return -ENOMEM;
	return array_push(&tape->events, row);
}

int tape_add_event_field(struct tape *tape, const char *key, const char *value, size_t value_size)
{
	struct tape_event *event;
	struct tape_fact field;

	assert(tape->events.count);
	event = &tape->events.items[tape->events.count - 1];
	/* the fields of an event are a range of rows */
	assert(event->fields.first + event->fields.count == tape->fields.count);
	if (strings_add(&tape->strings, key, strlen(key), &field.key) < 0 ||
	    strings_add(&tape->strings, value, value_size, &field.value) < 0 ||
	    array_push(&tape->fields, field) < 0)
		return -ENOMEM;
	event->fields.count++;
	return 0;
}

int tape_add_event_number(struct tape *tape, const char *key, uint64_t value)
{
	char digits[24];
	int size = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);

	return tape_add_event_field(tape, key, digits, size);
}

int tape_add_count(struct tape *tape, const struct tape_event *event, const char *name,
		   uint64_t count, uint64_t since_ns)
{
	int r = tape_add_event(tape, event, name);

	if (r < 0)
		return r;
	r = tape_add_event_number(tape, TAPE_EVENT_COUNT, count);
	return r == 0 ? tape_add_event_number(tape, TAPE_EVENT_SINCE, since_ns) : r;
}

int tape_add_no_thread(struct tape *tape, uint32_t *ret_thread)
{
	return tape_add_thread(tape, &(struct tape_thread){ 0 }, ret_thread);
}

const char *tape_event_field(const struct tape *tape, const struct tape_event *event,
			     const char *key)
{
	for (uint32_t i = 0; i < event->fields.count; i++) {
		const struct tape_fact *field = &tape->fields.items[event->fields.first + i];

		if (strcmp(tape_string(tape, field->key), key) == 0)
			return tape_string(tape, field->value);
	}
	return NULL;
}

uint64_t tape_event_number(const struct tape *tape, const struct tape_event *event, const char *key)
{
	const char *text = tape_event_field(tape, event, key);

	return text ? MIN(strtoull(text, NULL, 10), (unsigned long long)INT64_MAX) : 0;
}

void tape_event_copy(const struct tape *tape, const struct tape_event *event, const char *key,
		     char *to, size_t size)
{
	const char *text = tape_event_field(tape, event, key);

	snprintf(to, size, "%s", text ? text : "");
}

int tape_sort_events(struct tape *tape)
{
	_cleanup_free_ void *scratch = NULL;

	if (sort_array_is_sorted(&tape->events, time_ns))
		return 0;
	scratch = malloc(tape->events.count * sizeof(*tape->events.items));
	if (!scratch)
		return -ENOMEM;
	sort_array(&tape->events, scratch, time_ns);
	return 0;
}
