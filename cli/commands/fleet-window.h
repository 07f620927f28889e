/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The window of a host of a fleet, in place of a store. */

#include "cli/options/command.h"
#include "query/window/window.h"

/* Rows of a command's table. */
#define FLEET_OPTIONS                                                             \
	{ "fleet", 0, "URL", "ask this server of a fleet in place of a store" },  \
		{ "host", 0, "NAME", "with --fleet: the host" },                  \
	{                                                                         \
		"access", 0, "FILE", "with --fleet: user, password, certificates" \
	}

/* Large enough for the path of an open descriptor. */
#define FLEET_WINDOW_PATH 64

/* Checks options that --fleet needs or excludes. Call this before the window is parsed. */
int fleet_window_check(const struct invocation *invocation);
/*
 * Fetches all samples of the host in the window into a file in memory, and sets its path, which a
 * store reader can open. Returns EXIT_DONE, or another exit code after a message.
 */
int fleet_window_fetch(const struct invocation *invocation, const struct window *window,
		       char path[FLEET_WINDOW_PATH]);
