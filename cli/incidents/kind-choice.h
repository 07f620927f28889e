/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Checks the kind that a user names with --kind, so that a typing error does not look like calm. */

#include "cli/options/command.h"
#include "cli/window/incident-book.h"

/*
 * Accepts a kind of the catalogue, a kind of the book, or the beginning of such a kind, such as
 * "ena". `book` may be NULL. Returns EXIT_DONE, or EXIT_USAGE after a message that offers kinds.
 */
int kind_choice_check(const struct invocation *invocation, const struct catalogue *catalogue,
		      const struct book *book);
