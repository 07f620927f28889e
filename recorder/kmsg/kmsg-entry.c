// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/kmsg/kmsg-entry.h"

#include <assert.h>
#include <stdio.h>

#include "incidents/patterns/field-rows.h"

static const char *source_of(const struct kmsg_entry *entry)
{
	return entry->traced ? "trace" : "kmsg";
}

struct kmsg_entry *kmsg_entry_new(uint64_t stamp_ns, uint64_t sequence, uint32_t priority,
				  const char *text, size_t size)
{
	_cleanup_(cleanup_kmsg_entry) struct kmsg_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->stamp_ns = stamp_ns;
	entry->sequence = sequence;
	entry->priority = priority;
	entry->text = strndup(text, size);
	return entry->text ? take_ptr(entry) : NULL;
}

struct kmsg_entry *kmsg_entry_free(struct kmsg_entry *entry)
{
	if (!entry)
		return NULL;
	free(entry->text);
	free(entry->fields);
	free(entry);
	return NULL;
}

int kmsg_entry_classify(struct kmsg_entry *entry, const struct incident *incident, uint64_t id)
{
	struct buffer fields = { 0 };

	field_rows_write(&incident->fields, &fields);
	if (buffer_failed(&fields)) {
		buffer_done(&fields);
		return -ENOMEM;
	}
	entry->id = id;
	entry->kind = incident->kind->name;
	entry->severity = incident->kind->severity;
	entry->stall_ns = entry->stamp_ns;
	if (incident->has_stall)
		entry->stall_ns -= MIN(incident->stall_ns, entry->stamp_ns);
	entry->fields = (char *)fields.data;
	return 0;
}

static int kmsg_entry_put_text(struct tape *tape, const char *text, size_t size, uint32_t *ret_id)
{
	return strings_add(&tape->strings, text, size, ret_id);
}

static int kmsg_entry_put_field(struct tape *tape, struct tape_fields *fields, const char *name,
				size_t name_size, const char *value, size_t size)
{
	struct tape_fact field;
	int r = kmsg_entry_put_text(tape, name, name_size, &field.key);

	if (r < 0)
		return r;
	r = kmsg_entry_put_text(tape, value, size, &field.value);
	if (r < 0)
		return r;
	r = array_push(&tape->fields, field);
	if (r < 0)
		return r;
	fields->count++;
	return 0;
}

static int kmsg_entry_put_fields(const struct kmsg_entry *entry, struct tape *tape,
				 struct tape_fields *fields)
{
	char id[24];
	int size = snprintf(id, sizeof(id), "%llu", (unsigned long long)entry->id);
	int r;

	fields->first = tape->fields.count;
	fields->count = 0;
	r = kmsg_entry_put_field(tape, fields, TAPE_INCIDENT_ID, strlen(TAPE_INCIDENT_ID), id,
				 size);
	for (const char *at = entry->fields; r == 0 && *at;) {
		size_t row = strcspn(at, "\n"), name = strcspn(at, "=");

		r = kmsg_entry_put_field(tape, fields, at, name, at + name + 1, row - name - 1);
		at += row + 1;
	}
	return r;
}

static int kmsg_entry_put_incident(const struct kmsg_entry *entry, struct tape *tape, uint32_t text)
{
	struct tape_incident incident = {
		.time_ns = entry->stamp_ns,
		.stall_ns = entry->stall_ns,
		.severity = entry->severity,
		.text = text,
	};
	int r = kmsg_entry_put_text(tape, entry->kind, strlen(entry->kind), &incident.kind);

	if (r < 0)
		return r;
	r = kmsg_entry_put_text(tape, source_of(entry), strlen(source_of(entry)), &incident.source);
	if (r < 0)
		return r;
	r = kmsg_entry_put_fields(entry, tape, &incident.fields);
	return r < 0 ? r : array_push(&tape->incidents, incident);
}

int kmsg_entry_put(const struct kmsg_entry *entry, struct tape *tape)
{
	struct tape_line line = {
		.time_ns = entry->stamp_ns,
		.sequence = entry->sequence,
		.priority = entry->priority,
	};
	int r = kmsg_entry_put_text(tape, entry->text, strlen(entry->text), &line.text);

	if (r < 0)
		return -ENOMEM;
	if (!entry->traced)
		r = array_push(&tape->lines, line);
	if (r < 0)
		return -ENOMEM;
	if (entry->id && !entry->noted)
		r = kmsg_entry_put_incident(entry, tape, line.text);
	return r < 0 ? -ENOMEM : 0;
}

struct store_incident kmsg_entry_incident(const struct kmsg_entry *entry, const char *boot_id)
{
	return (struct store_incident){
		.id = entry->id,
		.time_ns = entry->realtime_ns,
		.stall_ns = entry->realtime_ns - (entry->stamp_ns - entry->stall_ns),
		.error_ns = entry->error_ns,
		.perf_ns = entry->stamp_ns,
		.kind = entry->kind,
		.severity = entry->severity,
		.text = entry->text,
		.source = source_of(entry),
		.fields = entry->fields,
		.boot_id = boot_id,
		.segment = "",
	};
}

void kmsg_chain_put(struct kmsg_chain *chain, struct kmsg_entry *entry)
{
	if (chain->last)
		chain->last->next = entry;
	else
		chain->first = entry;
	chain->last = entry;
	chain->count++;
}

struct kmsg_entry *kmsg_chain_take(struct kmsg_chain *chain)
{
	struct kmsg_entry *entry = chain->first;

	assert(entry);
	chain->first = entry->next;
	entry->next = NULL;
	if (!chain->first)
		chain->last = NULL;
	chain->count--;
	return entry;
}
