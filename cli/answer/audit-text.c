// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/audit-text.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "draw/lines.h"

#define INDENT 10
/* The indent of a line that continues a command. */
#define COMMAND_INDENT 4

static const char *const severities[] = { "notice", "warning", "critical" };

/* Puts the first line of a block behind a label. */
static void put_block(const struct terminal *terminal, const char *label, const char *block,
		      bool commands, struct buffer *text)
{
	const struct lines_shape shape = {
		.used = INDENT,
		.indent = INDENT + (commands ? COMMAND_INDENT : 0),
		.prose = true,
	};

	for (; *block; label = "") {
		size_t size = strcspn(block, "\n");
		_cleanup_free_ char *line = strndup(block, size);

		if (!line) {
			text->failed = true;
			return;
		}
		buffer_printf(text, "%-*s", INDENT, label);
		if (commands)
			lines_put_command(terminal, shape, line, text);
		else
			lines_put(terminal, shape, line, text);
		block += size + (block[size] == '\n');
	}
}

static void put_finding(const struct finding *finding, const struct terminal *terminal,
			struct buffer *text)
{
	static const enum terminal_style styles[] = {
		[SEVERITY_NOTICE] = STYLE_PLAIN,
		[SEVERITY_WARNING] = STYLE_WARNING,
		[SEVERITY_CRITICAL] = STYLE_ALERT,
	};

	if (finding->severity != SEVERITY_NOTICE)
		terminal_style(terminal, styles[finding->severity], text);
	put_block(terminal, severities[finding->severity], (const char *)finding->title.data, false,
		  text);
	terminal_style(terminal, STYLE_PLAIN, text);
	put_block(terminal, "means:", (const char *)finding->means.data, false, text);
	put_block(terminal, "numbers:", (const char *)finding->lines.data, false, text);
	put_block(terminal, "confirm:", (const char *)finding->confirm.data, true, text);
	put_block(terminal, "fix:", (const char *)finding->fix.data, false, text);
	buffer_u8(text, '\n');
}

static void list_checks(const struct report *report, bool unread, struct buffer *text)
{
	const char *comma = "";

	for (size_t i = 0; i < report->checks.count; i++) {
		const struct check *check = &report->checks.items[i];

		if (check->unread != unread)
			continue;
		buffer_printf(text, "%s%s (%s)", comma, check->name, check->text);
		comma = ", ";
	}
}

static bool any_check(const struct report *report, bool unread)
{
	for (size_t i = 0; i < report->checks.count; i++)
		if (report->checks.items[i].unread == unread)
			return true;
	return false;
}

/* Lists the checks that ran, and the checks that could not read their data. */
static void put_checks(const struct report *report, const struct terminal *terminal,
		       struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer checked = { 0 }, unread = { 0 };
	char watched[32], recorded[32];

	list_checks(report, false, &checked);
	if (!any_check(report, false))
		buffer_text(&checked, "nothing could be read");
	if (report->watched_ns)
		buffer_printf(&checked, "; watched for %s",
			      duration_format(report->watched_ns, watched, sizeof(watched)));
	else
		buffer_text(&checked, "; looked at once");
	if (report->recorded_from_ns)
		buffer_printf(&checked, ", and read %s of recorded data",
			      duration_format(report->recorded_to_ns - report->recorded_from_ns,
					      recorded, sizeof(recorded)));
	list_checks(report, true, &unread);
	buffer_u8(&checked, 0);
	buffer_u8(&unread, 0);
	text->failed |= buffer_failed(&checked) || buffer_failed(&unread);
	if (text->failed)
		return;
	put_block(terminal,
		  any_check(report, false) && !report->findings.count ? "healthy:" : "checked:",
		  (const char *)checked.data, false, text);
	put_block(terminal, "unread:", (const char *)unread.data, false, text);
}

void audit_put_text(const struct report *report, const struct terminal *terminal,
		    struct buffer *text)
{
	if (*report->host) {
		put_block(terminal, "host:", report->host, false, text);
		buffer_u8(text, '\n');
	}
	for (size_t i = 0; i < report->findings.count; i++)
		put_finding(&report->findings.items[i], terminal, text);
	put_checks(report, terminal, text);
}

static void audit_text_put_string(struct buffer *json, const char *key, const struct buffer *value)
{
	json_key(json, key);
	json_string(json, (const char *)value->data);
}

/* Each line becomes a string. */
static void put_strings(struct buffer *json, const char *key, const struct buffer *lines)
{
	const char *at = (const char *)lines->data;

	json_key(json, key);
	json_open(json, '[');
	while (*at) {
		size_t size = strcspn(at, "\n");

		json_text(json, at, size);
		at += size + (at[size] == '\n');
	}
	json_close(json, ']');
}

static void put_finding_json(const struct finding *finding, struct buffer *json)
{
	json_open(json, '{');
	json_key(json, "kind");
	json_string(json, finding->kind);
	json_key(json, "severity");
	json_string(json, severities[finding->severity]);
	audit_text_put_string(json, "title", &finding->title);
	audit_text_put_string(json, "means", &finding->means);
	json_key(json, "numbers");
	buffer_text(json, (const char *)finding->numbers.data);
	put_strings(json, "said", &finding->lines);
	put_strings(json, "confirm", &finding->confirm);
	audit_text_put_string(json, "fix", &finding->fix);
	json_close(json, '}');
}

static void put_checks_json(const struct report *report, const char *key, bool unread,
			    struct buffer *json)
{
	json_key(json, key);
	json_open(json, '{');
	for (size_t i = 0; i < report->checks.count; i++) {
		const struct check *check = &report->checks.items[i];

		if (check->unread != unread)
			continue;
		json_key(json, check->name);
		json_string(json, check->text);
	}
	json_close(json, '}');
}

void audit_put_json(const struct report *report, struct buffer *json)
{
	json_open(json, '{');
	json_key(json, "host");
	if (*report->host)
		json_string(json, report->host);
	else
		json_null(json);
	json_time_or_null(json, "time", report->now_ns);
	json_key(json, "watched_ns");
	json_u64(json, report->watched_ns);
	json_time_or_null(json, "recorded_from", report->recorded_from_ns);
	json_time_or_null(json, "recorded_to", report->recorded_to_ns);
	put_checks_json(report, "checked", false, json);
	put_checks_json(report, "not_checked", true, json);
	json_key(json, "findings");
	json_open(json, '[');
	for (size_t i = 0; i < report->findings.count; i++)
		put_finding_json(&report->findings.items[i], json);
	json_close(json, ']');
	json_close(json, '}');
	buffer_u8(json, '\n');
}
