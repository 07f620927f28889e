/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The window of an incident: --incident, or of a line that somebody has: --line. */

#include "cli/options/command.h"
#include "query/window/window.h"

/* From before the stall began to after the end of the episode. An exit code, EXIT_DONE when
 * *ret_window is set. */
int incident_window(const struct invocation *invocation, struct window *ret_window);
/* Around what the first incident of the text tells of, or around the time that it says. */
int line_window(const struct invocation *invocation, struct window *ret_window);
