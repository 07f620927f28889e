/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A list of incidents from several sources, with their own copies of texts. */

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
	/* A number, not a text. */
	uint32_t severity;
};

void incident_rows_done(struct incident_rows *incidents);
/* Appends a copy of an incident. Returns 0 or -ENOMEM. */
int incident_rows_add(struct incident_rows *incidents, const struct store_incident *incident);
/* Appends the incidents of a tape. Converts their times to the wall clock. */
int incident_rows_add_tape(struct incident_rows *incidents, const struct tape *tape,
			   const char *segment);
/* Appends the incident of a note, if the note holds one. */
int incident_rows_add_note(struct incident_rows *incidents, const struct note *note);

/* Sorts by time, then by number. Returns 0 or -ENOMEM. */
int incident_rows_sort(struct incident_rows *incidents);
/* Returns one row. The texts of the row are valid until the caller adds another row. */
struct store_incident incident_rows_at(const struct incident_rows *incidents, size_t i);
