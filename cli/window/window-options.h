/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The window that every reading command takes, and which of its samples: the options, and saying
 * them back. */

#include <stdbool.h>

#include "cli/options/command.h"
#include "query/window/filter.h"
#include "query/window/glob.h"
#include "query/window/window.h"

/* Rows of a command's table. */
#define MOMENT_OPTIONS                                                                            \
	{ "at", 0, "TIME", "the moment to look at, with what is around it" },                     \
		{ "before", 0, "LENGTH", "how much before it (default: 30s)" },                   \
		{ "after", 0, "LENGTH", "how much after it (default: 5s)" },                      \
		{ "from", 0, "TIME", "or: the start of the window" },                             \
		{ "to", 0, "TIME", "and its end (default: now)" },                                \
		{ "since", 0, "TIME", "the same as --from" },                                     \
		{ "until", 0, "TIME", "the same as --to" },                                       \
		{ "boot", 0, "ID", "of [uptime] times (default: the latest boot in the store)" }, \
		{ "incident", 0, "ID",                                                            \
		  "or: around an incident: 42, last, ena_reset, ena_reset:3" },                   \
	{                                                                                         \
		"line", 0, "TEXT", "or: around what a pasted line of any log tells of"            \
	}

#define WINDOW_OPTIONS                                                               \
	MOMENT_OPTIONS,                                                              \
	{                                                                            \
		"strict", 0, NULL, "exit with 4 when not all of the window is there" \
	}

#define FILTER_OPTIONS                                                                    \
	{ "cpu", 0, "LIST", "only these CPUs, such as 3,8-11" },                          \
		{ "pid", 0, "LIST", "only these processes, such as 1240,1262" },          \
		{ "tid", 0, "LIST", "only these threads" },                               \
		{ "comm", 0, "GLOB", "only threads of such a name, as 'kube*'" },         \
		{ "cgroup", 0, "GLOB", "only of such a cgroup, as '*/kubelet.service'" }, \
		{ "no-idle", 0, NULL, "without idle CPUs; interrupts on them are work" }, \
		{ "kernel", 0, NULL, "only the kernel's frames" },                        \
	{                                                                                 \
		"user", 0, NULL, "only the other frames"                                  \
	}

/* For the `about` of a command. */
#define WINDOW_ABOUT                                                                              \
	"A moment: 2026-11-18T03:12:07+01:00, '2026-11-18 03:12', 03:12:07, 'yesterday 23:00',\n" \
	"now, now-10m, '10m ago', @1762918327.25. Local time where no offset is given.\n"         \
	"'[12345.678901]' is the kernel log's uptime.\n"                                          \
	"A length: 250ms, 5s, 2m, 12h, 7d.\n"

/* Was any window given? */
bool window_given(const struct invocation *invocation);
/* EXIT_DONE or another one: what was wrong has been said. */
int window_option_parse(const struct invocation *invocation, struct window *ret_window);
/* A pattern that was given is one (query/window/glob.h), or it was said what is wrong with it.
 * EXIT_DONE or EXIT_USAGE. */
int glob_option_check(const struct invocation *invocation, const char *name);
/* The same of each of several, of which one has to pass: the option adds up. They are the
 * invocation's. */
int globs_option_parse(const struct invocation *invocation, const char *name,
		       struct globs *ret_globs);
/* The filter borrows from the invocation. */
int filter_options_parse(const struct invocation *invocation, struct filter *ret_filter);

/* "window ... to ...": the one that was understood. */
void say_window(const struct invocation *invocation, const struct window *window);
