// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/classify.h"

#include <string.h>

void classify_init(struct classify *classify, const struct scanner_options *options)
{
	*classify = (struct classify){ .options = *options };
	log_clock_init(&classify->clock, &options->clock);
}

void classify_done(struct classify *classify)
{
	buffer_done(&classify->lost_device);
}

const char *classify_device(const struct fields *fields, const char *pci_address,
			    char text[CLASSIFY_DEVICE_MAX])
{
	static const char *const names[] = { "bdf", "ifname", "ctrl", "dev", "unit" };

	*text = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct field *field = fields_find(fields, names[i]);

		if (i > 0 && *pci_address)
			return pci_address;
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
	struct text_cursor cursor = { field ? field->value : NULL,
				      field ? field->value + field->size : NULL };

	return field && take_number(&cursor, 1, 18, ret_number);
}

/*
 * ENA 2.17.0 swaps the CPU and the queue in the second line of a pair, and the pattern swaps the
 * values back. If the first line shows that this driver prints the values in the right order,
 * undoes the pattern's swap.
 */
static void check_swap(struct classify *classify, struct incident *incident)
{
	struct fields *fields = &incident->fields;
	size_t size = strlen(incident->device);
	uint64_t cpu, qid;

	if (is_kind(incident, "ena.tx_lost")) {
		classify->lost_device.size = 0;
		if (classify_number_of(fields, "qid", &classify->lost_qid))
			buffer_bytes(&classify->lost_device, incident->device, size);
		return;
	}
	if (!is_kind(incident, "ena.tx_lost_detail") || !size ||
	    classify->lost_device.size != size ||
	    memcmp(classify->lost_device.data, incident->device, size) ||
	    !classify_number_of(fields, "cpu", &cpu) || !classify_number_of(fields, "qid", &qid) ||
	    cpu != classify->lost_qid || qid == classify->lost_qid)
		return;
	for (size_t i = 0; i < fields->count; i++) {
		if (!strcmp(fields->list[i].name, "cpu"))
			fields->list[i].name = "qid";
		else if (!strcmp(fields->list[i].name, "qid"))
			fields->list[i].name = "cpu";
	}
}

static bool is_forged(const struct log_prefix *prefix, const struct kind *kind)
{
	return (prefix->forged || prefix->facility > 0) && !strcmp(kind->writer, "kernel");
}

static void classify_give(struct classify *classify, const struct log_prefix *prefix,
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
		.boot_id = *prefix->boot_id ? prefix->boot_id : classify->boot_id,
		.boot = classify->clock.boots,
		.line = line->text,
		.line_size = line->size,
		.line_number = line->number,
		.forged = is_forged(prefix, kind),
		.doubtful = prefix->doubtful && !fields->quoted && !strcmp(kind->writer, "kernel"),
	};

	incident.device = classify_device(fields, prefix->device, device);
	if (*prefix->device && !fields_find(&incident.fields, "bdf") &&
	    !strncmp(kind->name, "ena.", 4) && incident.fields.count < FIELDS_MAX)
		incident.fields.list[incident.fields.count++] = (struct field){
			.name = "bdf", .value = prefix->device, .size = strlen(prefix->device)
		};
	check_swap(classify, &incident);
	classify->summary.incidents++;
	classify->options.give(classify->options.context, &incident);
}

/*
 * Returns whether the first word, which has a colon like a program's name, may belong to a kernel
 * message.
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

/*
 * Matches again, together with the text before the message. This text may belong to the message
 * instead of naming its writer.
 */
static const struct kind *classify_match_from(const struct catalogue *catalogue,
					      const struct log_prefix *prefix, const char *text,
					      struct fields *fields)
{
	struct message message = { .text = text, .size = prefix->text + prefix->size - text };

	message.whole = !kernel_word(message.text, message.size);
	return catalogue_match(catalogue, &message, false, fields);
}

const struct kind *classify_match(const struct classify *classify, const struct log_prefix *prefix,
				  bool truncated, struct fields *fields)
{
	const struct catalogue *catalogue = classify->options.catalogue;
	struct message message = {
		.text = prefix->text,
		.size = prefix->size,
		.writer = prefix->writer,
		.writer_size = prefix->writer_size,
	};
	const struct kind *kind = catalogue_match(catalogue, &message, truncated, fields);

	if (!kind && prefix->text_with_writer)
		kind = classify_match_from(catalogue, prefix, prefix->text_with_writer, fields);
	if (!kind && prefix->text_with_host != prefix->text_with_writer)
		kind = classify_match_from(catalogue, prefix, prefix->text_with_host, fields);
	if (kind && prefix->continues && !strcmp(kind->writer, "kernel"))
		fields->quoted = true;
	return kind;
}

/*
 * Returns whether a user wrote the message, or only the text that the kernel quotes in the message.
 */
static bool is_of_user(const struct classify *classify, const struct log_prefix *prefix,
		       const struct kind *kind, const struct fields *fields)
{
	if (classify->options.own_words && fields->quoted)
		return true;
	return is_forged(prefix, kind) && !classify->options.trust_users;
}

bool classify_take(struct classify *classify, const struct log_prefix *prefix,
		   const struct line *line)
{
	const struct kind *kind;
	struct fields fields;
	struct moment moment;

	if (prefix->size > 14 && !memcmp(prefix->text, "Linux version ", 14))
		log_clock_boot(&classify->clock);
	log_clock_take(&classify->clock, prefix, &moment);
	kind = classify_match(classify, prefix, true, &fields);
	if (!kind)
		return false;
	if (is_of_user(classify, prefix, kind, &fields))
		classify->summary.forged++;
	else
		classify_give(classify, prefix, kind, &fields, &moment, line);
	return !fields.quoted && !is_forged(prefix, kind) && !strcmp(kind->writer, "kernel");
}
