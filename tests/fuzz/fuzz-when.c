// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times that users type: lines of --at, --before, --after, --from, --to and --cpu, in this order.
 * Any of them may be empty.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/window/cpu-filter.h"
#include "query/window/when.h"
#include "query/window/window.h"

#define NOW 1794971527250000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(int r, const struct error *error)
{
	assert(r == -EINVAL);
	assert(error->text[0]);
}

static void try_when(const char *text, bool utc)
{
	struct when when = { 0 };
	struct error error = { 0 };
	int r = when_parse(text, NOW, utc, &when, &error);

	if (r < 0) {
		check_error(r, &error);
		for (const char *at = error.text; *at; at++)
			assert((unsigned char)*at >= ' ');
		return;
	}
	if (when.is_uptime)
		return;
	assert(when.realtime_ns >= 365 * 86400 * NSEC_PER_SEC);
	assert(when.realtime_ns < 7289654400 * NSEC_PER_SEC);
	assert(!when.ambiguous || !when.skipped);
}

static void try_find(const char *text, bool utc)
{
	struct when when = { 0 };
	struct error error = { 0 };
	int r = when_find(text, NOW, utc, &when, &error);

	if (r < 0)
		check_error(r, &error);
	assert(r <= 0 || when.is_uptime || when.realtime_ns >= 365 * 86400 * NSEC_PER_SEC);
}

static void try_window(const struct window_request *request)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct window window;
	struct error error = { 0 };
	int r = window_parse(request, &window, &error);

	if (r < 0) {
		check_error(r, &error);
		return;
	}
	assert(window.from_ns < window.to_ns);
	window_describe(&window, request->utc, &text);
	assert(text.size && !memchr(text.data, '\n', text.size));
}

static void try_cpus(const char *text)
{
	struct cpu_set_filter filter = { 0 }, again = { 0 };
	_cleanup_(buffer_done) struct buffer said = { 0 };
	struct error error = { 0 };
	int r = cpu_filter_parse(text, &filter, &error);

	if (r < 0) {
		check_error(r, &error);
		return;
	}
	cpu_filter_describe(&filter, &said);
	buffer_u8(&said, 0);
	assert(cpu_filter_parse((const char *)said.data, &again, NULL) == 0);
	assert(again.wanted.count == filter.wanted.count);
	assert(!memcmp(again.wanted.items, filter.wanted.items, filter.wanted.count));
	cpu_filter_done(&filter);
	cpu_filter_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *copy = strndup((const char *)data, size);
	char *lines[6] = { NULL }, *rest = copy;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(lines) && rest; i++) {
		lines[i] = strsep(&rest, "\n");
		if (!*lines[i])
			lines[i] = NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!lines[i])
			continue;
		try_when(lines[i], false);
		try_when(lines[i], true);
		try_find(lines[i], false);
		try_find(lines[i], true);
		try_cpus(lines[i]);
	}
	try_window(&(struct window_request){ .at = lines[0],
					     .before = lines[1],
					     .after = lines[2],
					     .from = lines[3],
					     .to = lines[4],
					     .now_ns = NOW });
	return 0;
}
