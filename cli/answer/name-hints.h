/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Explains why no sample of a window passes a filter. Names the option that matches nothing, and
 * the names that exist in the window.
 */

#include "cli/options/command.h"
#include "query/read/loader.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/*
 * Prints a message if the invocation has --comm, --cgroup, --pid or --tid. Reads the window once
 * more, without these options. Returns 1 after a message, 0 without one, or a negative errno.
 */
int name_hints_say(const struct invocation *invocation, struct store_reader *reader,
		   const struct window *window, struct error *error);
/*
 * Does the same for the trace events that --name selects, if no event of the question has a
 * matching name.
 */
int name_hints_say_events(const struct invocation *invocation, struct store_reader *reader,
			  const struct question *question, struct error *error);
