/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The messages of `gauges` about figures without a row: counters that were read only once, and
 * patterns that do not match any figure.
 */

#include "base/array.h"
#include "cli/options/command.h"
#include "query/read/series.h"

/* A counter that the recorder read only once. Its growth would take two readings. */
struct gauges_once {
	/* NULL: the figure has a row, or the recorder did not read the gauge. */
	char *name;
	int64_t value;
	uint64_t time_ns;
	bool has_row;
};

struct gauges_onces {
	/* Indexed by series. */
	array_of(struct gauges_once) list;
};

void gauges_onces_done(struct gauges_onces *onces);
/* Notes a step. Returns 0 or -ENOMEM. */
int gauges_onces_see(struct gauges_onces *onces, const struct series_step *step);
size_t gauges_onces_count(const struct gauges_onces *onces);
/* Puts a line for each counter. */
void gauges_onces_put(const struct gauges_onces *onces, bool utc, struct buffer *text);

/*
 * Puts a text with a NUL. The text says that no figure of the window matches `glob`, which name is
 * similar, and which groups exist. Returns 0 or a negative errno.
 */
int gauges_put_unknown(struct store_reader *reader, const struct question *question,
		       const char *glob, struct buffer *text, struct error *error);
