// SPDX-License-Identifier: GPL-2.0-only
#include "cli/status/metrics-text.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"

static bool metrics_has_total(const struct metrics_text *metrics, bool of_family)
{
	/* OpenMetrics names the family without the suffix */
	return metrics->type == METRICS_COUNTER &&
	       !(of_family && metrics->form == METRICS_OPENMETRICS);
}

static void metrics_about(struct metrics_text *metrics, const char *what, const char *text)
{
	buffer_printf(metrics->text, "# %s %s%s %s\n", what, metrics->family,
		      metrics_has_total(metrics, true) ? "_total" : "", text);
}

void metrics_family(struct metrics_text *metrics, const char *family, enum metrics_type type,
		    const char *help)
{
	metrics->family = family;
	metrics->type = type;
	metrics_about(metrics, "HELP", help);
	metrics_about(metrics, "TYPE", type == METRICS_COUNTER ? "counter" : "gauge");
	metrics->family_begin = metrics->text->size;
}

/* Returns the size of the beginning that fits, without a part of a character. */
static size_t metrics_fit(const char *value)
{
	size_t size = strlen(value), end = 0, step;
	uint32_t code;

	while (end < size) {
		step = foreign_take(value + end, size - end, &code);
		if (end + step > METRICS_LABEL_BYTES)
			break;
		end += step;
	}
	return end;
}

static void metrics_begin_sample(struct metrics_text *metrics)
{
	buffer_printf(metrics->text, "%s%s", metrics->family,
		      metrics_has_total(metrics, false) ? "_total" : "");
}

void metrics_label(struct metrics_text *metrics, const char *name, const char *value)
{
	_cleanup_(buffer_done) struct buffer clean = { 0 };

	if (!metrics->labels) {
		metrics->sample_begin = metrics->text->size;
		metrics_begin_sample(metrics);
	}
	buffer_printf(metrics->text, "%s%s=\"", metrics->labels++ ? "," : "{", name);
	foreign_put(&clean, value, metrics_fit(value));
	metrics->text->failed |= buffer_failed(&clean);
	for (size_t i = 0; i < clean.size; i++) {
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			buffer_u8(metrics->text, '\\');
		buffer_u8(metrics->text, clean.data[i]);
	}
	buffer_u8(metrics->text, '"');
}

/* Returns whether the family has a sample with the labels of the current one. */
static bool metrics_is_repeated(const struct metrics_text *metrics)
{
	const char *text = (const char *)metrics->text->data;
	const char *at = text + metrics->family_begin, *sample = text + metrics->sample_begin;
	size_t size = metrics->text->size - metrics->sample_begin;

	if (buffer_failed(metrics->text))
		return false;
	while (at < sample) {
		const char *newline = memchr(at, '\n', sample - at);

		if ((size_t)(sample - at) > size && memcmp(at, sample, size) == 0 &&
		    at[size] == '}')
			return true;
		at = newline ? newline + 1 : sample;
	}
	return false;
}

/* Puts a label that makes the current sample differ from the others of its family. */
static void metrics_tell_apart(struct metrics_text *metrics)
{
	size_t size = metrics->text->size;
	char number[16];

	for (unsigned int count = 2; metrics_is_repeated(metrics); count++) {
		metrics->text->size = size;
		snprintf(number, sizeof(number), "%u", count);
		metrics_label(metrics, "repeat", number);
	}
}

static void metrics_begin_value(struct metrics_text *metrics)
{
	if (metrics->labels)
		metrics_tell_apart(metrics);
	if (metrics->labels)
		buffer_u8(metrics->text, '}');
	else
		metrics_begin_sample(metrics);
	buffer_u8(metrics->text, ' ');
	metrics->labels = 0;
}

void metrics_number(struct metrics_text *metrics, uint64_t value)
{
	metrics_begin_value(metrics);
	buffer_printf(metrics->text, "%llu\n", (unsigned long long)value);
}

void metrics_seconds(struct metrics_text *metrics, uint64_t ns)
{
	metrics_begin_value(metrics);
	buffer_printf(metrics->text, "%llu.%09llu\n", (unsigned long long)(ns / NSEC_PER_SEC),
		      (unsigned long long)(ns % NSEC_PER_SEC));
}

void metrics_end(struct metrics_text *metrics)
{
	if (metrics->form == METRICS_OPENMETRICS)
		buffer_text(metrics->text, "# EOF\n");
}

void metrics_put_number(struct metrics_text *metrics, const char *family, enum metrics_type type,
			uint64_t value, const char *help)
{
	metrics_family(metrics, family, type, help);
	metrics_number(metrics, value);
}

void metrics_put_seconds(struct metrics_text *metrics, const char *family, enum metrics_type type,
			 uint64_t ns, const char *help)
{
	metrics_family(metrics, family, type, help);
	metrics_seconds(metrics, ns);
}
