/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Rows of the tables of a fleet, on their way to a server. The encoders of rows put them here; the
 * outbox takes them from here.
 */

#include <stdint.h>

#include "base/bytes.h"

/*
 * In the order in which they are sent: the row of a window comes last, because it promises that the
 * samples are there.
 */
enum fleet_table {
	FLEET_STACKS,
	FLEET_FACTS,
	FLEET_LOSSES,
	FLEET_INCIDENTS,
	FLEET_GAUGES,
	FLEET_MINUTES,
	FLEET_SAMPLES,
	FLEET_WINDOWS,
};
#define FLEET_TABLES 8

/* "TABLE (COLUMN, ...)" for an INSERT; NULL for a number that is not a table's. */
const char *fleet_into(unsigned int table);

struct batch_rows {
	struct {
		struct buffer rows;
		uint64_t count;
	} of[FLEET_TABLES];
};
void batch_rows_done(struct batch_rows *rows);
/* Counts a row that the caller is about to put, and returns the buffer for its values. */
struct buffer *batch_rows_add(struct batch_rows *rows, enum fleet_table table);
