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
	snprintf(
		window->note + used, sizeof(window->note) - used,
		when->ambiguous
			? "%s\"%.32s\" was there twice (the clock was set back); taken is the first, %s"
			: "%s\"%.32s\" was never there (the clock was set forward); taken is %s",
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
				 "\"%.60s\" is an uptime; a time of the wall clock is wanted here",
				 text);
	r = request->uptime(request->context, when->uptime_ns, &when->realtime_ns, note,
			    sizeof(note), error);
	if (r == 0)
		snprintf(window->note + used, sizeof(window->note) - used, "%s%.40s is %s",
			 used ? "; " : "", text, note);
	return r;
}

static int parse_time(const struct window_request *request, const char *option, const char *text,
		      struct window *window, uint64_t *ret_ns, struct error *error)
{
	struct when when;
	int r = when_parse(text, request->now_ns, request->utc, &when, error);

	if (r == 0 && when.is_uptime)
		r = convert_uptime(request, text, window, &when, error);
	/* what is wrong with the store is not wrong with the option */
	if (r < 0 && r != -EINVAL)
		return r;
	if (r < 0)
		return error_prefix(error, r, "%s", option);
	note_add(window, text, &when, request->utc);
	*ret_ns = when.realtime_ns;
	return 0;
}

static int parse_reach(const char *option, const char *text, uint64_t fallback_ns, uint64_t *ret_ns,
		       struct error *error)
{
	int r;

	*ret_ns = fallback_ns;
	if (!text)
		return 0;
	r = duration_parse(text, ret_ns);
	if (r == -ERANGE)
		return error_set(error, -EINVAL, "%s: \"%.60s\" is over 100 years", option, text);
	if (r < 0)
		return error_set(error, r,
				 "%s: \"%.60s\" is no duration; use 250ms, 5s, 2m, 12h or 7d",
				 option, text);
	return 0;
}

static int parse_around(const struct window_request *request, struct window *window,
			struct error *error)
{
	uint64_t at_ns, before_ns, after_ns;
	int r = parse_time(request, "--at", request->at, window, &at_ns, error);

	if (r == 0)
		r = parse_reach("--before", request->before, WINDOW_BEFORE_NS, &before_ns, error);
	if (r == 0)
		r = parse_reach("--after", request->after, WINDOW_AFTER_NS, &after_ns, error);
	if (r < 0)
		return r;
	if (before_ns + after_ns == 0)
		return error_set(
			error, -EINVAL,
			"the window is empty: --before and --after are both 0; let one be longer");
	if (before_ns > at_ns)
		return error_set(error, -EINVAL,
				 "--before \"%.60s\" reaches back before 1970; use a shorter one",
				 request->before);
	window->at_ns = at_ns;
	window->from_ns = at_ns - before_ns;
	window->to_ns = at_ns + after_ns;
	return 0;
}

/* A time of day alone is the latest such moment that is not in the future; but behind --from, the
 * first one after that that is not half a day ahead. */
static bool is_time_of_day(const char *text)
{
	return *text && !text[strspn(text, "0123456789:., ")] && strchr(text, ':');
}

static int parse_end(const struct window_request *request, const char *to, struct window *window,
		     struct error *error)
{
	struct window_request until = *request;
	struct window parsed = *window, last;
	int r = parse_time(request, to_name(request), to, &parsed, &parsed.to_ns, error);

	last = parsed;
	if (r < 0 || !is_time_of_day(to)) {
		*window = parsed;
		return r;
	}
	/* a day on which the clock is set back is the longest; from its end on, back to the last
	 * one that is behind --from */
	until.now_ns = window->from_ns + 26 * 3600 * NSEC_PER_SEC;
	do {
		struct window earlier = { .from_ns = window->from_ns };

		memcpy(earlier.note, window->note, sizeof(earlier.note));
		if (parse_time(&until, to_name(request), to, &earlier, &earlier.to_ns, error) < 0 ||
		    earlier.to_ns <= window->from_ns)
			break;
		parsed = earlier;
		until.now_ns = earlier.to_ns - 1;
	} while (true);
	/* nobody asks for what is so far ahead: the two were mixed up */
	*window = parsed.to_ns > request->now_ns + 12 * 3600 * NSEC_PER_SEC ? last : parsed;
	return 0;
}

static int parse_between(const struct window_request *request, struct window *window,
			 struct error *error)
{
	const char *to = request->to ? request->to : "now";
	char from_text[TIME_TEXT_SIZE], to_text[TIME_TEXT_SIZE];
	int r = parse_time(request, from_name(request), request->from, window, &window->from_ns,
			   error);

	if (r == 0)
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
		"the window is upside down: %s %s is after %s %s; swap them, or give %s a later time",
		from_name(request), from_text, to_name(request), to_text, to_name(request));
}

int window_parse(const struct window_request *request, struct window *ret_window,
		 struct error *error)
{
	struct window window = { 0 };
	bool around = request->at || request->before || request->after;
	bool between = request->from || request->to;
	int r;

	if (around && between)
		return error_set(
			error, -EINVAL,
			"%s does not go with %s: give --at TIME [--before D] [--after D], or --from TIME [--to TIME]",
			request->at	  ? "--at"
			: request->before ? "--before"
					  : "--after",
			request->from ? from_name(request) : to_name(request));
	if (around && !request->at)
		return error_set(error, -EINVAL, "%s needs --at TIME",
				 request->before ? "--before" : "--after");
	if (between && !request->from)
		return error_set(error, -EINVAL, "%s needs %s TIME", to_name(request),
				 request->to_name ? "--since" : "--from");
	if (!around && !between)
		return error_set(
			error, -EINVAL,
			"no window was given: use --at TIME [--before D] [--after D], or --from TIME [--to TIME]");
	r = around ? parse_around(request, &window, error) : parse_between(request, &window, error);
	if (r == 0)
		*ret_window = window;
	return r;
}

/* The UTC time without what the local one has said already: the "Z", and the date when it is the
 * same. */
static const char *utc_short(uint64_t realtime_ns, const char *local, char text[TIME_TEXT_SIZE])
{
	time_format(realtime_ns, true, 3, text);
	text[strlen(text) - 1] = 0;
	return strncmp(text, local, 10) ? text : text + 11;
}

void window_describe(const struct window *window, bool utc, struct buffer *text)
{
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], length[64];
	char utc_from[TIME_TEXT_SIZE], utc_to[TIME_TEXT_SIZE];

	time_format(window->from_ns, utc, 3, from);
	time_format(window->to_ns, utc, 3, to);
	duration_format(window->to_ns - window->from_ns, length, sizeof(length));
	buffer_printf(text, "%s to %s (%s)", from, to, length);
	if (!utc)
		buffer_printf(text, ", UTC %s to %s", utc_short(window->from_ns, from, utc_from),
			      utc_short(window->to_ns, to, utc_to));
}
