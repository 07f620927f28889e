// SPDX-License-Identifier: GPL-2.0-only
#include "audit/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/json.h"

static void report_finding_done(struct finding *finding)
{
	buffer_done(&finding->title);
	buffer_done(&finding->means);
	buffer_done(&finding->lines);
	buffer_done(&finding->numbers);
	buffer_done(&finding->confirm);
	buffer_done(&finding->fix);
}

void report_done(struct report *report)
{
	for (size_t i = 0; i < report->findings.count; i++)
		report_finding_done(&report->findings.items[i]);
	array_done(&report->findings);
	array_done(&report->checks);
}

static void put_list(struct buffer *text, const char *format, va_list list)
{
	char line[2048];

	vsnprintf(line, sizeof(line), format, list);
	/* names may contain any bytes, and a newline separates lines */
	for (char *at = line; *at; at++)
		*at = *at == '\n' ? '?' : *at;
	buffer_text(text, line);
}

struct finding *report_find(struct report *report, const char *kind, enum severity severity,
			    const char *format, ...)
{
	struct finding *finding;
	va_list list;

	if (array_push(&report->findings, (struct finding){ .kind = kind, .severity = severity }) <
	    0)
		return NULL;
	finding = &report->findings.items[report->findings.count - 1];
	va_start(list, format);
	put_list(&finding->title, format, list);
	va_end(list);
	json_open(&finding->numbers, '{');
	return finding;
}

void report_line(struct buffer *lines, const char *format, ...)
{
	va_list list;

	if (lines->size)
		buffer_u8(lines, '\n');
	va_start(list, format);
	put_list(lines, format, list);
	va_end(list);
}

void report_sentence(struct buffer *paragraph, const char *format, ...)
{
	va_list list;

	if (paragraph->size)
		buffer_u8(paragraph, ' ');
	va_start(list, format);
	put_list(paragraph, format, list);
	va_end(list);
}

static int add_check(struct report *report, const char *name, bool unread, const char *format,
		     va_list list)
{
	struct check check = { .name = name, .unread = unread };

	vsnprintf(check.text, sizeof(check.text), format, list);
	return array_push(&report->checks, check);
}

int report_checked(struct report *report, const char *name, const char *format, ...)
{
	va_list list;
	int r;

	va_start(list, format);
	r = add_check(report, name, false, format, list);
	va_end(list);
	return r;
}

int report_unread(struct report *report, const char *name, const char *format, ...)
{
	va_list list;
	int r;

	va_start(list, format);
	r = add_check(report, name, true, format, list);
	va_end(list);
	return r;
}

static int finish_finding(struct finding *finding)
{
	struct buffer *const texts[] = { &finding->title,   &finding->means,   &finding->lines,
					 &finding->numbers, &finding->confirm, &finding->fix };
	int r = 0;

	json_close(&finding->numbers, '}');
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		buffer_u8(texts[i], 0);
		if (buffer_failed(texts[i]))
			r = -ENOMEM;
	}
	return r;
}

/* An insertion sort is enough for a few findings. */
static void sort_findings(struct report *report)
{
	struct finding *items = report->findings.items;

	for (size_t i = 1; i < report->findings.count; i++) {
		struct finding finding = items[i];
		size_t at = i;

		for (; at && items[at - 1].severity < finding.severity; at--)
			items[at] = items[at - 1];
		items[at] = finding;
	}
}

int report_finish(struct report *report)
{
	int r = 0;

	for (size_t i = 0; i < report->findings.count; i++)
		if (finish_finding(&report->findings.items[i]) < 0)
			r = -ENOMEM;
	sort_findings(report);
	return r;
}

void report_i64(struct finding *finding, const char *key, int64_t value)
{
	json_key(&finding->numbers, key);
	json_i64(&finding->numbers, value);
}

void report_double(struct finding *finding, const char *key, double value)
{
	json_key(&finding->numbers, key);
	if (isfinite(value))
		buffer_printf(&finding->numbers, "%.3f", value);
	else
		json_null(&finding->numbers);
}

void report_age(struct finding *finding, const char *key, uint64_t age_ns)
{
	json_key(&finding->numbers, key);
	if (age_ns == UINT64_MAX)
		json_null(&finding->numbers);
	else
		json_u64(&finding->numbers, age_ns / NSEC_PER_SEC);
}

void report_string(struct finding *finding, const char *key, const char *value)
{
	json_key(&finding->numbers, key);
	json_string(&finding->numbers, value);
}

const char *count_format(int64_t count, char text[COUNT_TEXT_SIZE])
{
	char digits[24];
	size_t size, at = 0;

	snprintf(digits, sizeof(digits), "%lld", llabs((long long)count));
	size = strlen(digits);
	if (count < 0)
		text[at++] = '-';
	for (size_t i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = 0;
	return text;
}
