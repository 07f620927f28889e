/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Divides a window's samples into parts by CPU, process or comm, each of which becomes a file. Each
 * sample belongs to exactly one part.
 */

#include "query/read/selection.h"

enum parts_by {
	PARTS_CPU,
	PARTS_COMM,
	PARTS_PID,
};

struct part {
	/* Such as "cpu 3", "pid 1240" or "comm kubelet". */
	char *title;
	/* The name of the part's file, such as "cpu-003.stacks". */
	char *name;
	/* Owns its rows; borrows everything else from the whole selection. */
	struct selection selection;
};

struct parts {
	/* In the order of the parts' first samples. */
	array_of(struct part) list;
};

/* Returns 0 or -ENOMEM. The selection must outlive the parts. */
int parts_make(const struct selection *selection, enum parts_by by, struct parts *ret_parts);
void parts_done(struct parts *parts);

/*
 * Counts the files in a folder that have names of parts but belong to an earlier answer. Puts the
 * name that is first in the alphabet into `name`. Returns their number, or a negative errno.
 */
int parts_count_others(const struct parts *parts, const char *folder, char name[256]);
