/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The limits of the store as options, for `record` and `vacuum`. */

#include "base/bytes.h"
#include "cli/options/command.h"
#include "store/disk/limits.h"

/* Rows of a command's table. */
#define LIMIT_OPTIONS                                                                              \
	{ "max-age", 0, "LENGTH", "remove older segments, such as 14d (default: none)" },          \
		{ "max-size", 0, "SIZE", "largest size of the store, such as 20G" },               \
		{ "keep-free", 0, "SIZE", "space of the disk that stays free, such as 2G or 5%" }, \
	{                                                                                          \
		"pin", 0, "LENGTH", "keep segments around incidents up to this age"                \
	}

#define FORCE_OPTION                                                                              \
	{                                                                                         \
		"force", 0, NULL, "apply limits that remove most of the store or pinned segments" \
	}

/* Returns whether an option is a limit. */
bool limit_options_has(const char *name);
/*
 * Sets the limits that the user gave. Returns EXIT_DONE, or EXIT_USAGE or EXIT_FAILED after a
 * message.
 */
int limit_options_parse(const struct invocation *invocation, struct store_limits *limits);

/* Puts one line without a newline, such as "at most 20.0 GB, 2.0 GB of the disk stay free". */
void limits_describe(const struct store_limits *limits, struct buffer *text);
