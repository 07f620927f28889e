/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A window's samples shared out over files: by CPU, process, or comm. Each sample is in exactly one
 * part. */

#include "query/read/selection.h"

enum parts_by {
	PARTS_CPU,
	PARTS_COMM,
	PARTS_PID,
};

struct part {
	/* "cpu 3", "pid 1240", "comm kubelet" */
	char *title;
	/* of a file, for this part alone: "cpu-003.stacks" */
	char *name;
	/* the rows; all else is borrowed from the whole */
	struct selection selection;
};

struct parts {
	/* in the order of their first samples */
	array_of(struct part) list;
};

/* 0 or -ENOMEM. The selection must live as long as the parts. */
int parts_make(const struct selection *selection, enum parts_by by, struct parts *ret_parts);
void parts_done(struct parts *parts);

/*
 * The files of such names in a folder that are no parts of these: of an answer before. How many
 * there are, and one of them in `name`, which is of the same for the same folder; or a negative
 * errno.
 */
int parts_count_others(const struct parts *parts, const char *folder, char name[256]);
