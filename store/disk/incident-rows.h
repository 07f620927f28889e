/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Incidents of several places, gathered, with texts of their own. */

#include "base/array.h"
#include "base/intern.h"
#include "store/disk/notes.h"
#include "store/disk/store-incident.h"
#include "tape/tape.h"

struct incident_rows {
	struct strings strings;
	array_of(struct incident_row) rows;
};

/* Texts are numbers in `strings`. */
struct incident_row {
	uint64_t id;
	uint64_t time_ns;
	uint64_t stall_ns;
	uint64_t error_ns;
	uint64_t perf_ns;
	uint32_t kind, text, source, fields, boot_id, segment;
	/* which is a number of its own */
	uint32_t severity;
};

void incident_rows_done(struct incident_rows *incidents);
/* A copy of one. 0 or -ENOMEM. */
int incident_rows_add(struct incident_rows *incidents, const struct store_incident *incident);
/* Those of a tape, whose times become those of the wall clock. */
int incident_rows_add_tape(struct incident_rows *incidents, const struct tape *tape,
			   const char *segment);
/* That of a note, if it is one of an incident. */
int incident_rows_add_note(struct incident_rows *incidents, const struct note *note);

/* By time; what has one time stays in order. 0 or -ENOMEM. */
int incident_rows_sort(struct incident_rows *incidents);
/* One row, whose texts are valid until the next one is added. */
struct store_incident incident_rows_at(const struct incident_rows *incidents, size_t i);
