/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The time window that every command accepts: --at TIME [--before D] [--after D], or --from TIME
 * --to TIME. The window is [from, to) of the wall clock. A time of day for --to is its first
 * occurrence after --from. If that occurrence is over half a day in the future, the last occurrence
 * in the past counts instead.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

#define WINDOW_BEFORE_NS (30 * 1000000000ull)
#define WINDOW_AFTER_NS (5 * 1000000000ull)

/* The options as the command line gives them; NULL means not given. */
struct window_request {
	const char *at;
	const char *before;
	const char *after;
	const char *from;
	/* default: now */
	const char *to;
	/* the names of these two options in messages; NULL means "--from" and "--to" */
	const char *from_name, *to_name;
	bool utc;
	uint64_t now_ns;
	/*
	 * Converts an uptime of the kernel log to the wall clock, and writes a remark for the user
	 * into `note`. Returns 0, or a negative errno with a message. NULL: an uptime is an error.
	 */
	int (*uptime)(void *context, uint64_t uptime_ns, uint64_t *ret_realtime_ns, char *note,
		      size_t size, struct error *error);
	void *context;
};

struct window {
	uint64_t from_ns;
	uint64_t to_ns;
	/* the moment of --at; 0 with --from */
	uint64_t at_ns;
	/* "", or a remark for the user, such as one about an ambiguous local time */
	char note[384];
};

/*
 * Returns 0, or -EINVAL with a message for options that exclude each other, a bad time, or an empty
 * or reversed window. Passes on an error of uptime().
 */
int window_parse(const struct window_request *request, struct window *ret_window,
		 struct error *error);

/*
 * Appends one line without a newline: "2026-11-18 03:11:37.000 to 03:12:12.000 +01:00 (35 s), UTC
 * 02:11:37.000 to 02:12:12.000". The line contains the date once unless it changes, and the UTC
 * time only if the zone is not UTC.
 */
void window_describe(const struct window *window, bool utc, struct buffer *text);
