/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds the incident that `explain` is about, and the begin and end of its stall. */

#include "cli/options/command.h"
#include "query/explain/evidence.h"
#include "store/read/store-reader.h"

/*
 * Sets the incident and the stall of the evidence: of the named incident, of the pasted line, or of
 * the worst incident that touches the window. Without an incident, the stall is the window. Returns
 * 0 or a negative errno.
 */
int explain_incident_find(const struct invocation *invocation, struct store_reader *reader,
			  const struct window *window, struct evidence *evidence,
			  struct error *error);
