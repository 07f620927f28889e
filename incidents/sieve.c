// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/sieve.h"

#include <string.h>

void sieve_init(struct sieve *sieve, const struct scanner_options *options)
{
	*sieve = (struct sieve){ .options = *options };
	log_clock_init(&sieve->clock, &options->clock);
}

void sieve_done(struct sieve *sieve)
{
	buffer_done(&sieve->lost_device);
}

/* The first of these fields that there is says what it happened to. */
static const char *device_of(
	const struct fields *fields, const struct heading *heading, char *text, size_t room)
{
	static const char *const names[] = { "bdf", "ifname", "ctrl", "dev", "unit" };

	*text = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct field *field = fields_find(fields, names[i]);

		if (i > 0 && *heading->device)
			return heading->device;
		if (!field || field->size >= room)
			continue;
		memcpy(text, field->value, field->size);
		text[field->size] = 0;
		break;
	}
	return text;
}

static bool is_kind(const struct incident *incident, const char *name)
{
	return !strcmp(incident->kind->name, name);
}

static bool number_of(const struct fields *fields, const char *name, uint64_t *ret_number)
{
	const struct field *field = fields_find(fields, name);
	struct cursor cursor = { field ? field->value : NULL,
		field ? field->value + field->size : NULL };

	return field && take_number(&cursor, 1, 18, ret_number);
}

/*
 * ENA 2.17.0 prints the CPU as the queue and the queue as the CPU in the second line of its pair, and the pattern puts that right. Where
 * the first line has shown that this driver does not, it is put back.
 */
static void check_swap(struct sieve *sieve, struct incident *incident)
{
	struct fields *fields = &incident->fields;
	size_t size = strlen(incident->device);
	uint64_t cpu, qid;

	if (is_kind(incident, "ena.tx_lost")) {
		sieve->lost_device.size = 0;
		if (number_of(fields, "qid", &sieve->lost_qid))
			buffer_bytes(&sieve->lost_device, incident->device, size);
		return;
	}
	if (!is_kind(incident, "ena.tx_lost_detail") || !size || sieve->lost_device.size != size ||
		memcmp(sieve->lost_device.data, incident->device, size) ||
		!number_of(fields, "cpu", &cpu) || !number_of(fields, "qid", &qid) ||
		cpu != sieve->lost_qid || qid == sieve->lost_qid)
		return;
	for (size_t i = 0; i < fields->count; i++) {
		if (!strcmp(fields->list[i].name, "cpu"))
			fields->list[i].name = "qid";
		else if (!strcmp(fields->list[i].name, "qid"))
			fields->list[i].name = "cpu";
	}
}

static void give(struct sieve *sieve, const struct heading *heading, const struct kind *kind,
	const struct fields *fields, const struct moment *moment, const struct line *line)
{
	char device[64];
	struct incident incident = {
		.kind = kind,
		.fields = *fields,
		.moment = *moment,
		.has_stall = fields->has_age || kind->stall_ns,
		.stall_ns = fields->has_age ? fields->age_ns : kind->stall_ns,
		.boot_id = *heading->boot_id ? heading->boot_id : sieve->boot_id,
		.boot = sieve->clock.boots,
		.line = line->text,
		.line_size = line->size,
		.line_number = line->number,
	};

	incident.device = device_of(fields, heading, device, sizeof(device));
	if (*heading->device && !fields_find(&incident.fields, "bdf") &&
		!strncmp(kind->name, "ena.", 4) && incident.fields.count < FIELDS_MAX)
		incident.fields.list[incident.fields.count++] = (struct field){
			.name = "bdf", .value = heading->device, .size = strlen(heading->device)
		};
	check_swap(sieve, &incident);
	sieve->summary.incidents++;
	sieve->options.give(sieve->options.context, &incident);
}

/* A word with a colon where a program's name would be may be the beginning of what the kernel says. */
static bool kernel_word(const char *text, size_t size)
{
	static const char *const words[] = { "watchdog:", "rcu:", "mce:", "clocksource:",
		"blk_update_request:", "print_req_error:", "end_request:" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (size > strlen(words[i]) && !memcmp(words[i], text, strlen(words[i])))
			return true;
	return false;
}

const struct kind *sieve_match(
	const struct sieve *sieve, const struct heading *heading, bool cut, struct fields *fields)
{
	const struct catalogue *catalogue = sieve->options.catalogue;
	struct message message = {
		.text = heading->text,
		.size = heading->size,
		.writer = heading->writer,
		.writer_size = heading->writer_size,
	};
	const struct kind *kind = catalogue_match(catalogue, &message, cut, fields);

	if (kind || !heading->loose)
		return kind;
	message.size += message.text - heading->loose;
	message.text = heading->loose;
	message.writer = NULL;
	message.whole = !kernel_word(message.text, message.size);
	return catalogue_match(catalogue, &message, false, fields);
}

static bool forged(
	const struct sieve *sieve, const struct heading *heading, const struct kind *kind)
{
	return (heading->forged || heading->facility > 0) && !sieve->options.trust_users &&
	       !strcmp(kind->writer, "kernel");
}

void sieve_take(struct sieve *sieve, const struct heading *heading, const struct line *line)
{
	const struct kind *kind;
	struct fields fields;
	struct moment moment;

	if (heading->size > 14 && !memcmp(heading->text, "Linux version ", 14))
		log_clock_boot(&sieve->clock);
	log_clock_take(&sieve->clock, heading, &moment);
	kind = sieve_match(sieve, heading, true, &fields);
	if (!kind)
		return;
	if (forged(sieve, heading, kind))
		sieve->summary.forged++;
	else
		give(sieve, heading, kind, &fields, &moment, line);
}
