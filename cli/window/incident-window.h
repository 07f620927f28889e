/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The window of an incident (--incident), or of a pasted line (--line). */

#include "cli/options/command.h"
#include "incidents/logs/episode.h"
#include "query/window/window.h"

/* Writes "incident 17, ena.reset of ens5, queue 5 on CPU 39, stalled for 5.9 s". */
void incident_describe(const struct episode *episode, char *text, size_t size);

/*
 * Sets the window from before the stall to after the end of the episode. Returns an exit code. Sets
 * *ret_window only if that is EXIT_DONE.
 */
int incident_window(const struct invocation *invocation, struct window *ret_window);
/*
 * Sets the window around the first incident of the text, or, without an incident, around the time
 * in the text. Returns an exit code.
 */
int line_window(const struct invocation *invocation, struct window *ret_window);

/*
 * Sets *ret_message to the text of a pasted line without the time that a person wrote into it, or
 * to the whole line if it has a logger's stamp or no time. Returns 0 or -ENOMEM.
 */
int line_cut_time(const char *line, bool utc, char **ret_message);
