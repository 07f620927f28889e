/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds the incident that a user names: ID, last, KIND, KIND:N or KIND:last. */

#include "cli/window/incident-book.h"

/*
 * Finds an episode. An ID means the episode of that incident. In KIND:N, N counts the episodes of a
 * kind from the oldest. KIND alone means the last episode of the kind. "last" prefers episodes that
 * are not informational.
 *
 * Returns 0; -EINVAL if `asked` does not have one of these forms; or -ENOENT if the incident does
 * not exist, and the error's text then lists the existing incidents.
 */
int incident_choose(const struct book *book, const char *asked, const struct episode **ret_episode,
		    struct error *error);
