/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What `gauges` says of figures that make no row: those that were read once, and those that a name
 * asked for and that are not there. */

#include "base/array.h"
#include "cli/options/command.h"
#include "query/read/series.h"

/* A counter's reading: by how much it grows takes two. */
struct gauges_once {
	/* NULL: it has a row, or was not read */
	char *name;
	int64_t value;
	uint64_t time_ns;
	bool has_row;
};

struct gauges_onces {
	/* by series */
	array_of(struct gauges_once) list;
};

void gauges_onces_done(struct gauges_onces *onces);
/* 0 or -ENOMEM. */
int gauges_onces_see(struct gauges_onces *onces, const struct series_step *step);
size_t gauges_onces_count(const struct gauges_onces *onces);
/* A line each. */
void gauges_onces_put(const struct gauges_onces *onces, bool utc, struct buffer *text);

/* That no figure of the question's window is called so, which one was perhaps meant, and what there
 * is: a text with a NUL. 0 or a negative errno. */
int gauges_put_unknown(struct store_reader *reader, const struct question *question,
		       const char *glob, struct buffer *text, struct error *error);
