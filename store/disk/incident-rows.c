// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/incident-rows.h"

#include <stdio.h>

#include "base/sort.h"

#define MARK_SHOWN 31

void incident_rows_done(struct incident_rows *incidents)
{
	strings_done(&incidents->strings);
	array_done(&incidents->rows);
}

static int incident_rows_add_text(struct incident_rows *incidents, const char *text,
				  uint32_t *ret_id)
{
	return strings_add(&incidents->strings, text, strlen(text), ret_id) < 0 ? -ENOMEM : 0;
}

int incident_rows_add(struct incident_rows *incidents, const struct store_incident *incident)
{
	struct incident_row row = {
		.id = incident->id,
		.time_ns = incident->time_ns,
		.stall_ns = incident->stall_ns,
		.error_ns = incident->error_ns,
		.perf_ns = incident->perf_ns,
		.severity = incident->severity,
	};

	if (incident_rows_add_text(incidents, incident->kind, &row.kind) < 0 ||
	    incident_rows_add_text(incidents, incident->text, &row.text) < 0 ||
	    incident_rows_add_text(incidents, incident->source, &row.source) < 0 ||
	    incident_rows_add_text(incidents, incident->fields, &row.fields) < 0 ||
	    incident_rows_add_text(incidents, incident->boot_id, &row.boot_id) < 0 ||
	    incident_rows_add_text(incidents, incident->segment, &row.segment) < 0)
		return -ENOMEM;
	return array_push(&incidents->rows, row);
}

/* Puts a line of fields. Newlines in the value become blanks. */
static void incident_rows_put_field(struct buffer *fields, const char *name, const char *value)
{
	buffer_text(fields, name);
	buffer_u8(fields, '=');
	for (; *value; value++)
		buffer_u8(fields, *value == '\n' ? ' ' : *value);
	buffer_u8(fields, '\n');
}

static int end_fields(struct buffer *fields)
{
	buffer_u8(fields, 0);
	return buffer_failed(fields) ? -ENOMEM : 0;
}

static int add_of_tape(struct incident_rows *incidents, const struct tape *tape,
		       const struct tape_incident *incident, const char *segment)
{
	_cleanup_(buffer_done) struct buffer fields = { 0 };
	struct store_incident row = {
		.perf_ns = incident->time_ns,
		.kind = tape_string(tape, incident->kind),
		.severity = incident->severity,
		.text = tape_string(tape, incident->text),
		.source = tape_string(tape, incident->source),
		.boot_id = tape_fact(tape, "boot_id"),
		.segment = segment,
	};

	row.time_ns = tape_to_realtime(tape, incident->time_ns, &row.error_ns);
	row.stall_ns = tape_to_realtime(tape, incident->stall_ns, NULL);
	for (uint32_t i = 0; i < incident->fields.count; i++) {
		const struct tape_fact *field = &tape->fields.items[incident->fields.first + i];
		const char *name = tape_string(tape, field->key);

		if (strcmp(name, TAPE_INCIDENT_ID) == 0)
			row.id = strtoull(tape_string(tape, field->value), NULL, 10);
		else
			incident_rows_put_field(&fields, name, tape_string(tape, field->value));
	}
	if (end_fields(&fields) < 0)
		return -ENOMEM;
	row.fields = (const char *)fields.data;
	return incident_rows_add(incidents, &row);
}

int incident_rows_add_tape(struct incident_rows *incidents, const struct tape *tape,
			   const char *segment)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < tape->incidents.count; i++)
		r = add_of_tape(incidents, tape, &tape->incidents.items[i], segment);
	return r;
}

static uint64_t incident_rows_number_of(const struct note *note, const char *name)
{
	return strtoull(note_field(note, name), NULL, 10);
}

/* Puts a mark's text, cut to the length that tables show. Cuts between characters. */
static void incident_rows_put_mark(struct buffer *fields, const char *text)
{
	size_t size = strnlen(text, MARK_SHOWN);
	char shown[MARK_SHOWN + 1];

	while (size && (text[size] & 0xc0) == 0x80)
		size--;
	snprintf(shown, sizeof(shown), "%.*s", (int)size, text);
	incident_rows_put_field(fields, STORE_MARK, shown);
}

int incident_rows_add_note(struct incident_rows *incidents, const struct note *note)
{
	_cleanup_(buffer_done) struct buffer fields = { 0 };
	struct store_incident row = {
		.time_ns = note->realtime_ns,
		.stall_ns = note->realtime_ns,
		.kind = note_field(note, "kind"),
		.text = note_field(note, "text"),
		.source = note_field(note, "source"),
		.boot_id = note_field(note, "boot_id"),
		.segment = "",
	};

	if (note->kind == NOTES_MARK) {
		row.kind = row.source = STORE_MARK;
		incident_rows_put_mark(&fields, row.text);
	} else if (note->kind != NOTES_INCIDENT) {
		return 0;
	}
	row.id = incident_rows_number_of(note, "id");
	row.severity = incident_rows_number_of(note, "severity");
	row.error_ns = incident_rows_number_of(note, "error_ns");
	row.perf_ns = incident_rows_number_of(note, "perf_ns");
	if (*note_field(note, "stall_ns"))
		row.stall_ns = incident_rows_number_of(note, "stall_ns");
	for (size_t i = 0; i < note->field_count; i++)
		if (note->fields[i].name[0] == '.')
			incident_rows_put_field(&fields, note->fields[i].name + 1,
						note->fields[i].value);
	if (end_fields(&fields) < 0)
		return -ENOMEM;
	row.fields = (const char *)fields.data;
	return incident_rows_add(incidents, &row);
}

int incident_rows_sort(struct incident_rows *incidents)
{
	_cleanup_free_ void *scratch = NULL;

	if (sort_array_is_sorted(&incidents->rows, time_ns) &&
	    sort_array_is_sorted(&incidents->rows, id))
		return 0;
	scratch = calloc(incidents->rows.count, sizeof(*incidents->rows.items));
	if (!scratch)
		return -ENOMEM;
	/* the second sort is stable, so incidents of one moment stay sorted by number */
	sort_array(&incidents->rows, scratch, id);
	sort_array(&incidents->rows, scratch, time_ns);
	return 0;
}

struct store_incident incident_rows_at(const struct incident_rows *incidents, size_t i)
{
	const struct incident_row *row = &incidents->rows.items[i];

	return (struct store_incident){
		.id = row->id,
		.time_ns = row->time_ns,
		.stall_ns = row->stall_ns,
		.error_ns = row->error_ns,
		.perf_ns = row->perf_ns,
		.kind = strings_at(&incidents->strings, row->kind),
		.severity = row->severity,
		.text = strings_at(&incidents->strings, row->text),
		.source = strings_at(&incidents->strings, row->source),
		.fields = strings_at(&incidents->strings, row->fields),
		.boot_id = strings_at(&incidents->strings, row->boot_id),
		.segment = strings_at(&incidents->strings, row->segment),
	};
}
