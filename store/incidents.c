// SPDX-License-Identifier: GPL-2.0-only
#include "store/incidents.h"

#include "base/sort.h"

void incidents_done(struct incidents *incidents)
{
	strings_done(&incidents->strings);
	array_done(&incidents->rows);
}

static int add_text(struct incidents *incidents, const char *text, uint32_t *ret_id)
{
	return strings_add(&incidents->strings, text, strlen(text), ret_id) < 0 ? -ENOMEM : 0;
}

int incidents_add(struct incidents *incidents, const struct store_incident *incident)
{
	struct incident_row row = {
		.time_ns = incident->time_ns,
		.stall_ns = incident->stall_ns,
		.severity = incident->severity,
	};

	if (add_text(incidents, incident->kind, &row.kind) < 0 ||
		add_text(incidents, incident->text, &row.text) < 0 ||
		add_text(incidents, incident->segment, &row.segment) < 0)
		return -ENOMEM;
	return array_push(&incidents->rows, row);
}

int incidents_add_tape(struct incidents *incidents, const struct tape *tape, const char *segment)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < tape->incidents.count; i++) {
		const struct tape_incident *incident = &tape->incidents.items[i];

		r = incidents_add(incidents,
			&(struct store_incident){
				.time_ns = tape_to_realtime(tape, incident->time_ns, NULL),
				.stall_ns = tape_to_realtime(tape, incident->stall_ns, NULL),
				.kind = tape_string(tape, incident->kind),
				.severity = incident->severity,
				.text = tape_string(tape, incident->text),
				.segment = segment,
			});
	}
	return r;
}

int incidents_add_note(struct incidents *incidents, const struct note *note)
{
	const char *stall = note_field(note, "stall_ns");

	if (note->kind != NOTES_INCIDENT)
		return 0;
	return incidents_add(incidents,
		&(struct store_incident){
			.time_ns = note->realtime_ns,
			.stall_ns = *stall ? strtoull(stall, NULL, 10) : note->realtime_ns,
			.kind = note_field(note, "kind"),
			.severity = strtoul(note_field(note, "severity"), NULL, 10),
			.text = note_field(note, "text"),
			.segment = "",
		});
}

int incidents_sort(struct incidents *incidents)
{
	_cleanup_free_ void *scratch = NULL;

	if (sort_array_is_done(&incidents->rows, time_ns))
		return 0;
	scratch = calloc(incidents->rows.count, sizeof(*incidents->rows.items));
	if (!scratch)
		return -ENOMEM;
	sort_array(&incidents->rows, scratch, time_ns);
	return 0;
}

struct store_incident incidents_at(const struct incidents *incidents, size_t i)
{
	const struct incident_row *row = &incidents->rows.items[i];

	return (struct store_incident){
		.time_ns = row->time_ns,
		.stall_ns = row->stall_ns,
		.kind = strings_at(&incidents->strings, row->kind),
		.severity = row->severity,
		.text = strings_at(&incidents->strings, row->text),
		.segment = strings_at(&incidents->strings, row->segment),
	};
}
