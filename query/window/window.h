/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The one window that every command takes: --at TIME [--before D] [--after D], or --from TIME --to
 * TIME. [from, to) of the wall clock. A time of day behind --to is the first such moment after
 * --from; where that is more than half a day ahead of now, the last one that was.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

#define WINDOW_BEFORE_NS (30 * 1000000000ull)
#define WINDOW_AFTER_NS (5 * 1000000000ull)

/* As given on the command line; NULL is not given. */
struct window_request {
	const char *at;
	const char *before;
	const char *after;
	const char *from;
	/* default now */
	const char *to;
	/* what the person called these; NULL: "--from", "--to" */
	const char *from_name, *to_name;
	bool utc;
	uint64_t now_ns;
	/*
	 * What an uptime of the kernel's log is on the wall clock; what the person should know of
	 * that goes into `note`. NULL: such times are refused. A negative errno with a text.
	 */
	int (*uptime)(void *context, uint64_t uptime_ns, uint64_t *ret_realtime_ns, char *note,
		      size_t size, struct error *error);
	void *context;
};

struct window {
	uint64_t from_ns;
	uint64_t to_ns;
	/* the moment that was asked for; 0 with --from */
	uint64_t at_ns;
	/* "" or what the person should know, such as an ambiguous local time */
	char note[384];
};

/* -EINVAL with a text on what does not go together or is no time, or a window that is empty or
 * upside down; what uptime() gives. */
int window_parse(const struct window_request *request, struct window *ret_window,
		 struct error *error);

/* "2026-11-18T03:11:37.000+01:00 to ... (35 s), UTC 02:11:37.000 to 02:12:12.000": one line for
 * people, no newline. */
void window_describe(const struct window *window, bool utc, struct buffer *text);
