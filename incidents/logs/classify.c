// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/classify.h"

#include <string.h>

void classify_init(struct classify *judge, const struct scanner_options *options)
{
	*judge = (struct classify){ .options = *options };
	log_clock_init(&judge->clock, &options->clock);
}

void classify_done(struct classify *judge)
{
	buffer_done(&judge->lost_device);
}

const char *classify_device(const struct fields *fields, const char *beside,
			    char text[CLASSIFY_DEVICE_MAX])
{
	static const char *const names[] = { "bdf", "ifname", "ctrl", "dev", "unit" };

	*text = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct field *field = fields_find(fields, names[i]);

		if (i > 0 && *beside)
			return beside;
		if (!field || field->size >= CLASSIFY_DEVICE_MAX)
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

static bool classify_number_of(const struct fields *fields, const char *name, uint64_t *ret_number)
{
	const struct field *field = fields_find(fields, name);
	struct text_cursor taker = { field ? field->value : NULL,
				     field ? field->value + field->size : NULL };

	return field && take_number(&taker, 1, 18, ret_number);
}

/*
 * ENA 2.17.0 prints the CPU as the queue and the queue as the CPU in the second line of its pair,
 * and the pattern puts that right. Where the first line has shown that this driver does not, it is
 * put back.
 */
static void check_swap(struct classify *judge, struct incident *incident)
{
	struct fields *fields = &incident->fields;
	size_t size = strlen(incident->device);
	uint64_t cpu, qid;

	if (is_kind(incident, "ena.tx_lost")) {
		judge->lost_device.size = 0;
		if (classify_number_of(fields, "qid", &judge->lost_qid))
			buffer_bytes(&judge->lost_device, incident->device, size);
		return;
	}
	if (!is_kind(incident, "ena.tx_lost_detail") || !size || judge->lost_device.size != size ||
	    memcmp(judge->lost_device.data, incident->device, size) ||
	    !classify_number_of(fields, "cpu", &cpu) || !classify_number_of(fields, "qid", &qid) ||
	    cpu != judge->lost_qid || qid == judge->lost_qid)
		return;
	for (size_t i = 0; i < fields->count; i++) {
		if (!strcmp(fields->list[i].name, "cpu"))
			fields->list[i].name = "qid";
		else if (!strcmp(fields->list[i].name, "qid"))
			fields->list[i].name = "cpu";
	}
}

static bool is_forged(const struct log_prefix *heading, const struct kind *kind)
{
	return (heading->forged || heading->facility > 0) && !strcmp(kind->writer, "kernel");
}

static void classify_give(struct classify *judge, const struct log_prefix *heading,
			  const struct kind *kind, const struct fields *fields,
			  const struct moment *moment, const struct line *line)
{
	char device[CLASSIFY_DEVICE_MAX];
	struct incident incident = {
		.kind = kind,
		.fields = *fields,
		.moment = *moment,
		.has_stall = fields->has_age || kind->stall_ns,
		.stall_ns = fields->has_age ? fields->age_ns : kind->stall_ns,
		.boot_id = *heading->boot_id ? heading->boot_id : judge->boot_id,
		.boot = judge->clock.boots,
		.line = line->text,
		.line_size = line->size,
		.line_number = line->number,
		.forged = is_forged(heading, kind),
	};

	incident.device = classify_device(fields, heading->device, device);
	if (*heading->device && !fields_find(&incident.fields, "bdf") &&
	    !strncmp(kind->name, "ena.", 4) && incident.fields.count < FIELDS_MAX)
		incident.fields.list[incident.fields.count++] = (struct field){
			.name = "bdf", .value = heading->device, .size = strlen(heading->device)
		};
	check_swap(judge, &incident);
	judge->summary.incidents++;
	judge->options.give(judge->options.context, &incident);
}

/* A word with a colon where a program's name would be may be the beginning of what the kernel says.
 */
static bool kernel_word(const char *text, size_t size)
{
	static const char *const words[] = {
		"watchdog:",	    "rcu:",	   "mce:", "clocksource:", "blk_update_request:",
		"print_req_error:", "end_request:"
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (size > strlen(words[i]) && !memcmp(words[i], text, strlen(words[i])))
			return true;
	return false;
}

/* As if the message began before what was taken for its writer. */
static const struct kind *classify_match_from(const struct catalogue *catalogue,
					      const struct log_prefix *heading, const char *text,
					      struct fields *fields)
{
	struct message message = { .text = text, .size = heading->text + heading->size - text };

	message.whole = !kernel_word(message.text, message.size);
	return catalogue_match(catalogue, &message, false, fields);
}

const struct kind *classify_match(const struct classify *judge, const struct log_prefix *heading,
				  bool cut, struct fields *fields)
{
	const struct catalogue *catalogue = judge->options.catalogue;
	struct message message = {
		.text = heading->text,
		.size = heading->size,
		.writer = heading->writer,
		.writer_size = heading->writer_size,
	};
	const struct kind *kind = catalogue_match(catalogue, &message, cut, fields);

	if (!kind && heading->loose)
		kind = classify_match_from(catalogue, heading, heading->loose, fields);
	if (!kind && heading->unnamed != heading->loose)
		kind = classify_match_from(catalogue, heading, heading->unnamed, fields);
	return kind;
}

void classify_take(struct classify *judge, const struct log_prefix *heading,
		   const struct line *line)
{
	const struct kind *kind;
	struct fields fields;
	struct moment moment;

	if (heading->size > 14 && !memcmp(heading->text, "Linux version ", 14))
		log_clock_boot(&judge->clock);
	log_clock_take(&judge->clock, heading, &moment);
	kind = classify_match(judge, heading, true, &fields);
	if (!kind)
		return;
	if (is_forged(heading, kind) && !judge->options.trust_users)
		judge->summary.forged++;
	else
		classify_give(judge, heading, kind, &fields, &moment, line);
}
