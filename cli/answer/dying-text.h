/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Dying cgroups, and who made them, as text and as JSON. */

#include <stdbool.h>

#include "base/bytes.h"
#include "cli/answer/field-lines.h"
#include "draw/terminal.h"
#include "query/read/dying-state.h"

/* Number of kinds of paths to print in an answer that is not only about dying cgroups. */
#define DYING_TEXT_KINDS 3

/*
 * Appends "20041 dying cgroups under /ecs/task*, made by ecs-agent (process 812), removed by ...,
 * the oldest for 3 h", without a newline. Cleans the names, because users choose them.
 */
void dying_text_kind(const struct dying_state_kind *kind, const struct terminal *terminal,
		     struct buffer *text);
/* Appends a line for each of the first `limit` kinds, and one line for all other kinds. */
void dying_text_lines(const struct dying_state *state, size_t limit,
		      const struct terminal *terminal, struct buffer *text);
/* Appends a line that tells the recorder's count from that of the kernel, for a table with both. */
void dying_text_two_counts(struct buffer *text);
/* Prints the kinds and their number as fields of `status`. */
void dying_text_print(struct field_lines *fields, const struct dying_state *state, bool utc);
/* Appends an object, or null if nothing was dying. */
void dying_text_json(const struct dying_state *state, struct buffer *json);
