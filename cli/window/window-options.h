/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Options for the window and the filter of a reading command. */

#include <stdbool.h>

#include "cli/options/command.h"
#include "query/window/filter.h"
#include "query/window/glob.h"
#include "query/window/window.h"

/* Rows of a command's table. BEFORE and AFTER are the lengths around a moment. */
#define MOMENT_OPTIONS_AROUND(BEFORE, AFTER)                                                      \
	{ "at", 0, "TIME", "moment in the window" },                                              \
		{ "before", 0, "LENGTH", "length before the moment (default: " BEFORE ")" },      \
		{ "after", 0, "LENGTH", "length after the moment (default: " AFTER ")" },         \
		{ "from", 0, "TIME", "or: start of the window" },                                 \
		{ "to", 0, "TIME", "end of the window (default: now)" },                          \
		{ "since", 0, "TIME", "the same as --from" },                                     \
		{ "until", 0, "TIME", "the same as --to" },                                       \
		{ "boot", 0, "ID", "boot of [uptime] times (default: the latest in the store)" }, \
		{ "incident", 0, "ID",                                                            \
		  "or: around an incident, such as 42, last, ena_reset or ena_reset:3" },         \
	{                                                                                         \
		"line", 0, "TEXT", "or: around the incident or time of a pasted log line"         \
	}

#define MOMENT_OPTIONS MOMENT_OPTIONS_AROUND("30s", "5s")

#define WINDOW_OPTIONS                                                              \
	MOMENT_OPTIONS,                                                             \
	{                                                                           \
		"strict", 0, NULL, "exit with 4 if the window is not fully covered" \
	}

#define FILTER_OPTIONS                                                                           \
	{ "cpu", 0, "LIST", "only these CPUs, such as 3,8-11" },                                 \
		{ "pid", 0, "LIST", "only these processes, such as 1240,1262" },                 \
		{ "tid", 0, "LIST", "only these threads" },                                      \
		{ "comm", 0, "GLOB", "only threads whose name matches, such as 'kube*'" },       \
		{ "cgroup", 0, "GLOB", "only cgroups that match, such as '*/kubelet.service'" }, \
		{ "no-idle", 0, NULL, "leave out idle CPUs, but not their interrupts" },         \
		{ "kernel", 0, NULL, "keep only kernel frames" },                                \
	{                                                                                        \
		"user", 0, NULL, "keep only user frames"                                         \
	}

/* Text for the `about` of a command. */
#define WINDOW_ABOUT                                                                      \
	"A moment: 2026-11-18T03:12:07+01:00, '2026-11-18 03:12', 3:12, '3:12 PM',\n"     \
	"'12:24:49 UTC', 'Nov 19, 2026 12:24:49 PM UTC', 'yesterday 23:00', now-10m,\n"   \
	"-20m, '10m ago', @1762918327.25. Times without a zone or an offset are local.\n" \
	"'[12345.678901]' is an uptime of the kernel's log.\n"                            \
	"A length: 250ms, 5s, 2m, 12h, 7d.\n"

/* Returns whether the user gave any window option. */
bool window_given(const struct invocation *invocation);
/* Parses the window. Returns EXIT_DONE, or another exit code after a message. */
int window_option_parse(const struct invocation *invocation, struct window *ret_window);
/* The same, with another default length before and after the moment of --at. */
int window_option_parse_around(const struct invocation *invocation, const char *around,
			       struct window *ret_window);
/* Checks a pattern (query/window/glob.h). Returns EXIT_DONE, or EXIT_USAGE after a message. */
int glob_option_check(const struct invocation *invocation, const char *name);
/*
 * Collects the patterns of a repeatable option and checks them. A name passes if it matches at
 * least one of them. Borrows from the invocation.
 */
int globs_option_parse(const struct invocation *invocation, const char *name,
		       struct globs *ret_globs);
/* Parses the filter, which borrows from the invocation. */
int filter_options_parse(const struct invocation *invocation, struct filter *ret_filter);

/* Prints the window in full, and its note. */
void say_window(const struct invocation *invocation, const struct window *window);
/* Prints only the note, if the window has one, for an answer that begins with its window. */
void say_window_note(const struct invocation *invocation, const struct window *window);
