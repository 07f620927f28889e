// SPDX-License-Identifier: GPL-2.0-only
#include "query/window/window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "query/window/when.h"

static const char *from_name(const struct window_request *request)
{
	return request->from_name ? request->from_name : "--from";
}

static const char *to_name(const struct window_request *request)
{
	return request->to_name ? request->to_name : "--to";
}

static void note_add(struct window *window, const char *text, const struct when *when, bool utc)
{
	size_t used = strlen(window->note);
	char shown[TIME_TEXT_SIZE];

	if (!when->ambiguous && !when->skipped)
		return;
	time_format(when->realtime_ns, utc, 0, shown);
	snprintf(window->note + used, sizeof(window->note) - used,
		 when->ambiguous
			 ? "%s\"%.32s\" occurred twice (clock set back); the first is used, %s"
			 : "%s\"%.32s\" did not occur (clock set forward); %s is used",
		 used ? "; " : "", text, shown);
}

static int convert_uptime(const struct window_request *request, const char *text,
			  struct window *window, struct when *when, struct error *error)
{
	size_t used = strlen(window->note);
	char note[192] = "";
	int r;

	if (!request->uptime)
		return error_set(error, -EINVAL,
				 "\"%.60s\" is an uptime; use a time of the wall clock here", text);
	r = request->uptime(request->context, when->uptime_ns, &when->realtime_ns, note,
			    sizeof(note), error);
	if (r < 0)
		return r;
	snprintf(window->note + used, sizeof(window->note) - used, "%s%.40s is %s",
		 used ? "; " : "", text, note);
	return 0;
}

static int parse_time(const struct window_request *request, const char *option, const char *text,
		      struct window *window, uint64_t *ret_ns, bool *ret_time_of_day,
		      struct error *error)
{
	struct when when = { .realtime_ns = 0 };
	int r = when_parse(text, request->now_ns, request->utc, &when, error);

	if (r == 0 && when.is_uptime)
		r = convert_uptime(request, text, window, &when, error);
	/* an error of the store does not concern the option, so this function keeps its message */
	if (r < 0 && r != -EINVAL && r != -ENXIO)
		return r;
	if (r < 0)
		return error_prefix(error, r, "%s", option);
	note_add(window, text, &when, request->utc);
	*ret_ns = when.realtime_ns;
	*ret_time_of_day = when.is_time_of_day;
	return 0;
}

static int parse_length(const char *option, const char *text, uint64_t fallback_ns,
			uint64_t *ret_ns, struct error *error)
{
	int r;

	*ret_ns = fallback_ns;
	if (!text)
		return 0;
	r = duration_parse(text, ret_ns);
	if (r == -ERANGE)
		return error_set(error, -EINVAL, "%s: \"%.60s\" is over 100 years", option, text);
	if (r == -EDOM)
		return error_set(error, -EINVAL, "%s: \"%.60s\": duration needs a unit, as %.60ss",
				 option, text, text);
	if (r < 0)
		return error_set(error, r,
				 "%s: \"%.60s\" is not a duration; use 250ms, 5s, 2m, 12h or 7d",
				 option, text);
	return 0;
}

static int parse_around(const struct window_request *request, struct window *window,
			struct error *error)
{
	uint64_t at_ns, before_ns, after_ns;
	bool time_of_day;
	int r = parse_time(request, "--at", request->at, window, &at_ns, &time_of_day, error);

	if (r < 0)
		return r;
	r = parse_length("--before", request->before, WINDOW_BEFORE_NS, &before_ns, error);
	if (r < 0)
		return r;
	r = parse_length("--after", request->after, WINDOW_AFTER_NS, &after_ns, error);
	if (r < 0)
		return r;
	if (before_ns + after_ns == 0)
		return error_set(
			error, -EINVAL,
			"the window is empty: --before and --after are both 0; make one longer");
	if (before_ns > at_ns)
		return error_set(error, -EINVAL,
				 "--before: \"%.60s\" reaches back before 1970; use a shorter one",
				 request->before);
	window->at_ns = at_ns;
	window->from_ns = at_ns - before_ns;
	window->to_ns = at_ns + after_ns;
	return 0;
}

/*
 * Parses --to. A time of day without a date is its first occurrence after --from. If that
 * occurrence is over half a day in the future, the last occurrence in the past counts instead.
 */
static int parse_end(const struct window_request *request, const char *to, struct window *window,
		     struct error *error)
{
	struct window_request until = *request;
	struct window parsed = *window, last;
	bool time_of_day = false;
	int r = parse_time(request, to_name(request), to, &parsed, &parsed.to_ns, &time_of_day,
			   error);

	last = parsed;
	if (r < 0 || !time_of_day) {
		*window = parsed;
		return r;
	}
	/*
	 * The longest day is one on which the clock is set back. Search backwards from the end of
	 * such a day for the first occurrence after --from.
	 */
	until.now_ns = window->from_ns + 26 * 3600 * NSEC_PER_SEC;
	do {
		struct window earlier = { .from_ns = window->from_ns };

		memcpy(earlier.note, window->note, sizeof(earlier.note));
		if (parse_time(&until, to_name(request), to, &earlier, &earlier.to_ns, &time_of_day,
			       error) < 0 ||
		    earlier.to_ns <= window->from_ns)
			break;
		parsed = earlier;
		until.now_ns = earlier.to_ns - 1;
	} while (true);
	/* a user who selects a window so far ahead has swapped the two times */
	*window = parsed.to_ns > request->now_ns + 12 * 3600 * NSEC_PER_SEC ? last : parsed;
	return 0;
}

static int parse_between(const struct window_request *request, struct window *window,
			 struct error *error)
{
	const char *to = request->to ? request->to : "now";
	char from_text[TIME_TEXT_SIZE], to_text[TIME_TEXT_SIZE];
	bool time_of_day;
	int r = parse_time(request, from_name(request), request->from, window, &window->from_ns,
			   &time_of_day, error);

	if (r < 0)
		return r;
	r = parse_end(request, to, window, error);
	if (r < 0 || window->from_ns < window->to_ns)
		return r;
	time_format(window->from_ns, request->utc, 3, from_text);
	time_format(window->to_ns, request->utc, 3, to_text);
	if (window->from_ns == window->to_ns)
		return error_set(error, -EINVAL, "the window is empty: %s and %s are both %s",
				 from_name(request), to_name(request), from_text);
	return error_set(
		error, -EINVAL,
		"the window is reversed: %s %s is after %s %s; swap them, or use a later %s",
		from_name(request), from_text, to_name(request), to_text, to_name(request));
}

static const char both_forms[] = "--at TIME [--before D] [--after D], or --from TIME [--to TIME]";

int window_parse(const struct window_request *request, struct window *ret_window,
		 struct error *error)
{
	struct window window = { 0 };
	bool around = request->at || request->before || request->after;
	bool between = request->from || request->to;
	int r;

	if (around && between)
		return error_set(error, -EINVAL, "%s and %s exclude each other; use %s",
				 request->at	   ? "--at"
				 : request->before ? "--before"
						   : "--after",
				 request->from ? from_name(request) : to_name(request), both_forms);
	if (around && !request->at)
		return error_set(error, -EINVAL, "%s needs --at TIME",
				 request->before ? "--before" : "--after");
	if (between && !request->from)
		return error_set(error, -EINVAL, "%s needs %s TIME", to_name(request),
				 request->to_name ? "--since" : "--from");
	if (!around && !between)
		return error_set(error, -EINVAL, "no window is given; use %s", both_forms);
	r = around ? parse_around(request, &window, error) : parse_between(request, &window, error);
	if (r < 0)
		return r;
	*ret_window = window;
	return 0;
}

/* A time in three texts: its date, its time of day, and its zone, which is "UTC" or "+01:00". */
struct window_shown {
	char date[16], time[24], zone[16];
};

static void window_show(uint64_t realtime_ns, bool utc, struct window_shown *ret_shown)
{
	char text[TIME_TEXT_SIZE];
	const char *zone;

	time_format(realtime_ns, utc, 3, text);
	zone = text + strcspn(text, ".") + 4;
	snprintf(ret_shown->date, sizeof(ret_shown->date), "%.*s", (int)strcspn(text, "T"), text);
	snprintf(ret_shown->time, sizeof(ret_shown->time), "%.12s", text + strcspn(text, "T") + 1);
	snprintf(ret_shown->zone, sizeof(ret_shown->zone), "%s",
		 !strcmp(zone, "Z") || !strcmp(zone, "+00:00") ? "UTC" : zone);
}

/*
 * Puts both times. Puts the date of the end only if it differs from that of the begin. Puts the
 * zone of the begin only if it differs from that of the end.
 */
static void window_put_range(const struct window_shown *from, const struct window_shown *to,
			     bool dated, bool zoned, struct buffer *text)
{
	bool shifts = zoned && strcmp(from->zone, to->zone) != 0;

	if (dated)
		buffer_printf(text, "%s ", from->date);
	buffer_printf(text, "%s%s%s to ", from->time, shifts ? " " : "", shifts ? from->zone : "");
	if (strcmp(from->date, to->date) != 0)
		buffer_printf(text, "%s ", to->date);
	buffer_printf(text, "%s%s%s", to->time, zoned ? " " : "", zoned ? to->zone : "");
}

void window_describe(const struct window *window, bool utc, struct buffer *text)
{
	struct window_shown from, to, utc_from, utc_to;
	char length[64];

	window_show(window->from_ns, utc, &from);
	window_show(window->to_ns, utc, &to);
	window_show(window->from_ns, true, &utc_from);
	window_show(window->to_ns, true, &utc_to);
	duration_format(window->to_ns - window->from_ns, length, sizeof(length));
	window_put_range(&from, &to, true, true, text);
	buffer_printf(text, " (%s)", length);
	if (strcmp(from.zone, "UTC") == 0 && strcmp(to.zone, "UTC") == 0)
		return;
	buffer_text(text, ", UTC ");
	window_put_range(&utc_from, &utc_to, strcmp(from.date, utc_from.date) != 0, false, text);
}
