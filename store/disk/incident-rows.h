/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Incidents of several places, gathered, with texts of their own. */

#include "base/array.h"
#include "base/intern.h"
#include "store/disk/notes.h"
#include "store/read/store-reader.h"

struct incidents {
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
	uint32_t severity; /* which is a number of its own */
};

void incidents_done(struct incidents *incidents);
/* A copy of one. 0 or -ENOMEM. */
int incidents_add(struct incidents *incidents, const struct store_incident *incident);
/* Those of a tape, whose times become those of the wall clock. */
int incidents_add_tape(struct incidents *incidents, const struct tape *tape, const char *segment);
/* That of a note, if it is one of an incident. */
int incidents_add_note(struct incidents *incidents, const struct note *note);

/* By time; what has one time stays in order. 0 or -ENOMEM. */
int incidents_sort(struct incidents *incidents);
/* One row, whose texts are valid until the next one is added. */
struct store_incident incidents_at(const struct incidents *incidents, size_t i);
