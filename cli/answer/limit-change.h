/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Refuses limits that would remove much of a store at once, because they may be a typing error. */

#include "base/error.h"
#include "cli/options/command.h"
#include "store/write/store-writer.h"

/*
 * Compares limits with the limits that the store noted last, or with the defaults. Returns 1 with a
 * text if the new limits remove too much at once: a pinned segment, or over half of the bytes that
 * the noted limits keep. Otherwise returns 0, or a negative errno with a text. *ret_noted becomes
 * the noted limits.
 */
int limit_change_is_drastic(const struct invocation *invocation, struct store_writer *writer,
			    const struct store_limits *limits, struct store_limits *ret_noted,
			    struct error *ret_text);

/* Returns whether the command line contains a limit. */
bool limit_change_is_typed(const struct invocation *invocation);
