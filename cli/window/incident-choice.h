/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The one incident that a person names: ID, last, KIND, KIND:N, KIND:last. */

#include "cli/window/incident-book.h"

/*
 * Which episode is meant: a number names the one that the incident is part of; N counts episodes
 * from the oldest; a kind alone, its last. Last is the last one of some weight. 0; -EINVAL when
 * that is no such form, -ENOENT when there is none: the text says what there is.
 */
int incident_choose(const struct book *book, const char *asked, const struct episode **ret_episode,
		    struct error *error);
