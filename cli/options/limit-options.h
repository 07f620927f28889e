/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* How much the store may grow, as options of who records and who tidies up. */

#include "base/bytes.h"
#include "cli/options/command.h"
#include "store/disk/limits.h"

/* Rows of a command's table. */
#define LIMIT_OPTIONS                                                                     \
	{ "max-age", 0, "LENGTH", "remove what is older, such as 14d, or none" },         \
		{ "max-size", 0, "SIZE", "how large the store may grow, such as 20G" },   \
		{ "keep-free", 0, "SIZE", "of the disk, such as 2G or 5%" },              \
	{                                                                                 \
		"pin", 0, "LENGTH", "how old what is around an incident may get at least" \
	}

/* Is this the name of one of them? */
bool limit_options_has(const char *name);
/* Sets those limits that were given. EXIT_DONE, EXIT_USAGE, or EXIT_FAILED. */
int limit_options_parse(const struct invocation *invocation, struct store_limits *limits);

/* "at most 20.0 GB, 2.0 GB of the disk stay free, ...": one line for people, no newline. */
void limits_describe(const struct store_limits *limits, struct buffer *text);
