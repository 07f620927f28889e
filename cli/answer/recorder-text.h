/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A recorder's status, as text and as JSON. */

#include "base/bytes.h"
#include "base/error.h"
#include "cli/answer/field-lines.h"
#include "recorder/run/progress.h"
#include "store/read/store-reader.h"

struct recorder_text {
	/* The status file exists and could be parsed. */
	bool there;
	/* The process that wrote the status file still holds the store's lock. */
	bool running;
	int pid;
	/* The time of the last report on the wall clock. */
	uint64_t reported_ns;
	struct recorder_progress progress;
};

/*
 * Reads the status. `pid` is the process that holds the store's lock; 0: none. Returns 0 or
 * -ENOMEM.
 */
int recorder_text_read(const struct store_reader *reader, int pid,
		       struct recorder_text *ret_status);
/* Returns whether a recorder runs and has not reported for seconds. */
bool recorder_text_is_stalled(const struct recorder_text *status, uint64_t now_ns);
/* Prints the status as fields. With `stop_known`, the caller has printed why the recorder ended. */
void recorder_text_print(struct field_lines *fields, const struct recorder_text *status,
			 bool stop_known, uint64_t now_ns, bool utc);
/*
 * Prints each absent feature or right of a list such as "ksymbol,lost", and the effect of its
 * absence.
 */
void recorder_text_lacks(struct field_lines *fields, const char *lacks);
/* Puts the status as an object, or null without a status. */
void recorder_text_json(const struct recorder_text *status, uint64_t now_ns, struct buffer *json);
