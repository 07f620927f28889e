/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* `query --events`: the trace events of a window. */

#include "cli/options/command.h"
#include "query/read/loader.h"

/* Returns EXIT_DONE, or EXIT_USAGE after a message about an option that fits only samples. */
int query_events_check(const struct invocation *invocation, bool json);
int query_events(const struct invocation *invocation, const struct question *question,
		 struct store_reader *reader, bool json);
