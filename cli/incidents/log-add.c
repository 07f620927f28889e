// SPDX-License-Identifier: GPL-2.0-only
#include "cli/incidents/log-add.h"

#include "base/mutation.h"
#include "incidents/patterns/field-rows.h"
#include "store/disk/incident-notes.h"

#define TEXT_MAX 4096

static void addition_done(struct store_incident *incident)
{
	free((char *)incident->kind);
	free((char *)incident->text);
	free((char *)incident->source);
	free((char *)incident->fields);
	free((char *)incident->boot_id);
}

void log_add_done(struct log_add *log_add)
{
	for (size_t i = 0; i < log_add->list.count; i++)
		addition_done(&log_add->list.items[i]);
	array_done(&log_add->list);
}

static int log_add_push(struct log_add *log_add, const struct incident *incident,
			const struct log_place *place, const char *source)
{
	const struct moment *moment = &place->moment;
	uint64_t stall_ns = incident->has_stall ? incident->stall_ns : 0;
	struct buffer fields = { 0 };
	struct store_incident row = {
		.time_ns = moment->realtime_ns,
		.stall_ns = moment->realtime_ns - MIN(stall_ns, moment->realtime_ns),
		.error_ns = moment->error_ns,
		.perf_ns = moment->has_uptime ? moment->uptime_ns : 0,
		.kind = strdup(incident->kind->name),
		.severity = incident->kind->severity,
		.text = strndup(incident->line, MIN(incident->line_size, TEXT_MAX)),
		.source = strdup(source),
		.boot_id = strdup(place->boot_id),
		.segment = "",
	};

	field_rows_write(&incident->fields, &fields);
	row.fields = (char *)fields.data;
	if (row.kind && row.text && row.source && row.boot_id && !buffer_failed(&fields) &&
	    array_push(&log_add->list, row) == 0)
		return 0;
	addition_done(&row);
	return -ENOMEM;
}

int log_add_put(struct log_add *log_add, const struct incident *incident,
		const struct log_place *place, const char *source)
{
	if (place->how == LOG_PLACE_LINE && !mutated("add-what-is-known"))
		log_add->known++;
	else if (incident->fields.quoted)
		log_add->quoted++;
	else if (incident->doubtful)
		log_add->doubtful++;
	else if (!place->moment.has_time)
		log_add->timeless++;
	else
		return log_add_push(log_add, incident, place, source);
	return 0;
}

int log_add_write(struct log_add *log_add, const char *store, struct error *error)
{
	size_t count = log_add->list.count;
	int r = count ? incident_notes_reserve(store, count, 1, &log_add->first_id, error) : 0;

	for (size_t i = 0; i < count; i++)
		log_add->list.items[i].id = log_add->first_id + i;
	if (r < 0 || !count)
		return r;
	return incident_notes_add(store, log_add->list.items, count, error);
}

void log_add_print_summary(const struct log_add *log_add, const struct invocation *invocation)
{
	size_t count = log_add->list.count;

	if (count == 1)
		say(invocation, "1 added to %s, as %llu", store_path(invocation),
		    (unsigned long long)log_add->first_id);
	else if (count)
		say(invocation, "%zu added to %s, as %llu to %llu", count, store_path(invocation),
		    (unsigned long long)log_add->first_id,
		    (unsigned long long)log_add->first_id + count - 1);
	if (log_add->known || !count)
		say(invocation, "%llu of them %s known already", (unsigned long long)log_add->known,
		    log_add->known == 1 ? "was" : "were");
	if (log_add->timeless)
		say(invocation, "%llu not added: their time is unknown; see --boot-time",
		    (unsigned long long)log_add->timeless);
	if (log_add->quoted)
		say(invocation, "%llu not added: other text quotes them, which users may choose",
		    (unsigned long long)log_add->quoted);
	if (log_add->doubtful)
		say(invocation, "%llu not added: doubtful; --trust-user-kmsg adds them",
		    (unsigned long long)log_add->doubtful);
}
