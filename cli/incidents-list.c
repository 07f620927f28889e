// SPDX-License-Identifier: GPL-2.0-only
#include "cli/incidents-list.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/window-options.h"
#include "incidents/catalogue.h"
#include "store/store-reader.h"

struct list {
	const struct invocation *invocation;
	struct buffer out;
	uint64_t count;
};

static void put_time(struct buffer *json, const char *key, uint64_t realtime_ns)
{
	char text[TIME_TEXT_SIZE];

	json_key(json, key);
	json_string(json, time_format(realtime_ns, true, 6, text));
}

/* What a store holds may be of a newer perftape's making. */
static const char *weight(const struct store_incident *incident)
{
	return severity_name(MIN(incident->severity, SEVERITY_CRIT));
}

static void put_json(struct buffer *json, const struct store_incident *incident)
{
	json_open(json, '{');
	json_key(json, "kind");
	json_string(json, incident->kind);
	json_key(json, "severity");
	json_string(json, weight(incident));
	put_time(json, "time", incident->time_ns);
	put_time(json, "stall_start", incident->stall_ns);
	json_key(json, "line");
	json_string(json, incident->text);
	json_key(json, "segment");
	json_string(json, incident->segment);
	json_close(json, '}');
	buffer_u8(json, '\n');
}

/* A line of the log as it may stand on a terminal. */
static void put_line(struct buffer *out, const char *text)
{
	for (; *text; text++)
		buffer_u8(out, (uint8_t)*text < 0x20 || *text == 0x7f ? '?' : *text);
	buffer_u8(out, '\n');
}

static void put_row(
	const struct list *list, struct buffer *out, const struct store_incident *incident)
{
	char time[TIME_TEXT_SIZE], stall[32] = "-";

	if (incident->stall_ns < incident->time_ns)
		duration_format(incident->time_ns - incident->stall_ns, stall, sizeof(stall));
	if (!list->count)
		buffer_printf(out, "%-29s  %-6s  %-20s  %12s  %s\n", "time", "weight", "kind",
			"stall", "line");
	buffer_printf(out, "%-29s  %-6s  %-20s  %12s  ",
		time_format(incident->time_ns, option_given(list->invocation, "utc"), 3, time),
		weight(incident), incident->kind, stall);
	put_line(out, incident->text);
}

static int see(void *context, const struct store_incident *incident)
{
	struct list *list = context;

	if (option_given(list->invocation, "json"))
		put_json(&list->out, incident);
	else
		put_row(list, &list->out, incident);
	list->count++;
	return buffer_failed(&list->out) ? -ENOMEM : 0;
}

int incidents_list(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct window window = { .to_ns = UINT64_MAX };
	struct list list = { .invocation = invocation };
	struct error error = { 0 };
	int r = window_given(invocation) ? window_option_parse(invocation, &window) : EXIT_DONE;

	if (r != EXIT_DONE)
		return r;
	r = store_reader_open(store_path(invocation), &reader, &error);
	if (r == 0 && window_given(invocation))
		say_window(invocation, &window);
	if (r == 0)
		r = store_reader_incidents(
			reader, window.from_ns, window.to_ns, see, &list, &error);
	if (list.out.size)
		fwrite(list.out.data, 1, list.out.size, stdout);
	buffer_done(&list.out);
	if (r < 0)
		return fail(r, &error);
	say(invocation, "%llu incident%s in %s", (unsigned long long)list.count,
		list.count == 1 ? "" : "s", store_path(invocation));
	return EXIT_DONE;
}
