// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/incident-notes.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "store/disk/notes.h"

#define NUMBER_SIZE 24

struct reserving {
	uint64_t count;
	/* the least number that is free, as far as the notes say */
	uint64_t first;
	char below[NUMBER_SIZE];
	struct notes_field field;
};

static uint64_t incident_notes_number_of(const struct note *note, const char *name)
{
	return strtoull(note_field(note, name), NULL, 10);
}

static int see_numbers(void *context, const struct note *note)
{
	struct reserving *reserving = context;

	if (note->kind == NOTES_IDS)
		reserving->first = MAX(reserving->first, incident_notes_number_of(note, "below"));
	if (note->kind == NOTES_INCIDENT)
		reserving->first = MAX(reserving->first, incident_notes_number_of(note, "id") + 1);
	return 0;
}

static void make_reservation(void *context, struct note *ret_note)
{
	struct reserving *reserving = context;

	snprintf(reserving->below, sizeof(reserving->below), "%llu",
		 (unsigned long long)(reserving->first + reserving->count));
	reserving->field = (struct notes_field){ "below", reserving->below };
	*ret_note = (struct note){ NOTES_IDS, 0, &reserving->field, 1 };
}

int incident_notes_reserve(const char *store, uint64_t count, uint64_t least, uint64_t *ret_first,
			   struct error *error)
{
	struct reserving reserving = { .count = count, .first = MAX(least, 1ull) };
	int r = notes_append_after(store, see_numbers, make_reservation, &reserving, error);

	if (r == 0)
		*ret_first = reserving.first;
	return r;
}

struct adding {
	array_of(struct notes_field) fields;
	char numbers[5][NUMBER_SIZE];
	/* of them */
	size_t used;
	/* the incident's own fields, taken apart */
	char *names;
	bool failed;
};

static void incident_notes_add_text(struct adding *adding, const char *name, const char *value)
{
	if (*value && array_push(&adding->fields, (struct notes_field){ name, value }) < 0)
		adding->failed = true;
}

static void add_number(struct adding *adding, const char *name, uint64_t value)
{
	char *text = adding->numbers[adding->used++];

	snprintf(text, NUMBER_SIZE, "%llu", (unsigned long long)value);
	incident_notes_add_text(adding, name, value ? text : "");
}

/* Rows NAME=VALUE, each with a newline, to .NAME and VALUE. */
static void add_own(struct adding *adding, const char *fields)
{
	char *at = adding->names = malloc(2 * strlen(fields) + 1);

	adding->failed |= !adding->names;
	while (!adding->failed && *fields) {
		size_t name_size = strcspn(fields, "=\n"), size = strcspn(fields, "\n");
		char *value = at + 1 + name_size;

		*at = '.';
		memcpy(at + 1, fields, size);
		*value = 0;
		value += name_size < size;
		at[1 + size] = 0;
		incident_notes_add_text(adding, at, value);
		at += size + 2;
		fields += size + (fields[size] == '\n');
	}
}

static int incident_notes_encode(const struct store_incident *incident, struct buffer *records,
				 struct error *error)
{
	struct adding adding = { 0 };
	struct note note = { .kind = NOTES_INCIDENT, .realtime_ns = incident->time_ns };
	int r = -ENOMEM;

	add_number(&adding, "id", incident->id);
	incident_notes_add_text(&adding, "kind", incident->kind);
	add_number(&adding, "severity", incident->severity);
	incident_notes_add_text(&adding, "text", incident->text);
	add_number(&adding, "stall_ns", incident->stall_ns);
	incident_notes_add_text(&adding, "source", incident->source);
	add_number(&adding, "error_ns", incident->error_ns);
	add_number(&adding, "perf_ns", incident->perf_ns);
	incident_notes_add_text(&adding, "boot_id", incident->boot_id);
	add_own(&adding, incident->fields);
	note.fields = adding.fields.items;
	note.field_count = adding.fields.count;
	if (!adding.failed)
		r = notes_encode(&note, records);
	if (r == -E2BIG)
		error_set(error, r, "incident %llu is over 64 KB",
			  (unsigned long long)incident->id);
	array_done(&adding.fields);
	free(adding.names);
	return r;
}

int incident_notes_add(const char *store, const struct store_incident *incidents, size_t count,
		       struct error *error)
{
	_cleanup_(buffer_done) struct buffer records = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = incident_notes_encode(&incidents[i], &records, error);
	return r < 0 ? r : notes_append_encoded(store, &records, error);
}
