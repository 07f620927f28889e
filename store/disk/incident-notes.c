// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/incident-notes.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "store/disk/notes.h"

#define NUMBER_SIZE 24

struct reservation {
	uint64_t count;
	/* The first free number according to the notes. */
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
	struct reservation *reservation = context;

	if (note->kind == NOTES_IDS)
		reservation->first =
			MAX(reservation->first, incident_notes_number_of(note, "below"));
	if (note->kind == NOTES_INCIDENT)
		reservation->first =
			MAX(reservation->first, incident_notes_number_of(note, "id") + 1);
	return 0;
}

static void make_reservation(void *context, struct note *ret_note)
{
	struct reservation *reservation = context;

	snprintf(reservation->below, sizeof(reservation->below), "%llu",
		 (unsigned long long)(reservation->first + reservation->count));
	reservation->field = (struct notes_field){ "below", reservation->below };
	*ret_note = (struct note){ NOTES_IDS, 0, &reservation->field, 1 };
}

int incident_notes_reserve(const char *store, uint64_t count, uint64_t least, uint64_t *ret_first,
			   struct error *error)
{
	struct reservation reservation = { .count = count, .first = MAX(least, 1ull) };
	int r = notes_append_after(store, see_numbers, make_reservation, &reservation, error);

	if (r < 0)
		return r;
	*ret_first = reservation.first;
	return 0;
}

struct incident_fields {
	array_of(struct notes_field) fields;
	char numbers[5][NUMBER_SIZE];
	/* The number of `numbers` in use. */
	size_t used;
	/* The names of the incident's own fields, split from their values. */
	char *names;
	bool failed;
};

static void incident_notes_add_text(struct incident_fields *incident_fields, const char *name,
				    const char *value)
{
	if (*value && array_push(&incident_fields->fields, (struct notes_field){ name, value }) < 0)
		incident_fields->failed = true;
}

static void add_number(struct incident_fields *incident_fields, const char *name, uint64_t value)
{
	char *text = incident_fields->numbers[incident_fields->used++];

	snprintf(text, NUMBER_SIZE, "%llu", (unsigned long long)value);
	incident_notes_add_text(incident_fields, name, value ? text : "");
}

/* Converts lines NAME=VALUE to fields .NAME and VALUE. */
static void add_own_fields(struct incident_fields *incident_fields, const char *fields)
{
	char *at = incident_fields->names = malloc(2 * strlen(fields) + 1);

	incident_fields->failed |= !incident_fields->names;
	while (!incident_fields->failed && *fields) {
		size_t name_size = strcspn(fields, "=\n"), size = strcspn(fields, "\n");
		char *value = at + 1 + name_size;

		*at = '.';
		memcpy(at + 1, fields, size);
		*value = 0;
		value += name_size < size;
		at[1 + size] = 0;
		incident_notes_add_text(incident_fields, at, value);
		at += size + 2;
		fields += size + (fields[size] == '\n');
	}
}

static int incident_notes_encode(const struct store_incident *incident, struct buffer *records,
				 struct error *error)
{
	struct incident_fields incident_fields = { 0 };
	struct note note = { .kind = NOTES_INCIDENT, .realtime_ns = incident->time_ns };
	int r = -ENOMEM;

	add_number(&incident_fields, "id", incident->id);
	incident_notes_add_text(&incident_fields, "kind", incident->kind);
	add_number(&incident_fields, "severity", incident->severity);
	incident_notes_add_text(&incident_fields, "text", incident->text);
	add_number(&incident_fields, "stall_ns", incident->stall_ns);
	incident_notes_add_text(&incident_fields, "source", incident->source);
	add_number(&incident_fields, "error_ns", incident->error_ns);
	add_number(&incident_fields, "perf_ns", incident->perf_ns);
	incident_notes_add_text(&incident_fields, "boot_id", incident->boot_id);
	add_own_fields(&incident_fields, incident->fields);
	note.fields = incident_fields.fields.items;
	note.field_count = incident_fields.fields.count;
	if (!incident_fields.failed)
		r = notes_encode(&note, records);
	if (r == -E2BIG)
		error_set(error, r, "incident %llu exceeds 64 KB",
			  (unsigned long long)incident->id);
	array_done(&incident_fields.fields);
	free(incident_fields.names);
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
