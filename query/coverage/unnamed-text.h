/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds up the reasons why frames of a window have no name. Segments state a reason for each module.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "tape/tape.h"

/*
 * Nine reasons exist; a newer perftape may add some. If the list is full, its last entry counts all
 * further reasons.
 */
#define UNNAMED_TEXT_MAX 16
#define UNNAMED_TEXT_OTHER "for another reason"

struct unnamed_text {
	struct {
		/* "gone before they were opened" */
		char why[48];
		uint64_t frames;
	} items[UNNAMED_TEXT_MAX];
	size_t count;
};

/*
 * Adds numbers of frames that have no name, indexed by module of the tape. The tape's facts state
 * the reasons. Returns 0 or -ENOMEM.
 */
int unnamed_text_add(struct unnamed_text *unnamed, const struct tape *tape, const uint64_t *frames);
/*
 * Adds a number of frames that have no name. `path` is the number of the string with their module's
 * path, or UNNAMED_TEXT_UNMAPPED for frames in no known mapping. Returns 0 or -ENOMEM.
 */
#define UNNAMED_TEXT_UNMAPPED UINT32_MAX
int unnamed_text_add_path(struct unnamed_text *unnamed, const struct tape *tape, uint32_t path,
			  uint64_t frames);
void unnamed_text_merge(struct unnamed_text *unnamed, const struct unnamed_text *other);
/*
 * Appends "956 without symbols, 12 gone before they were opened", or nothing if the list is empty.
 */
void unnamed_text_describe(const struct unnamed_text *unnamed, struct buffer *text);
/* Appends the reasons and their numbers of frames as a JSON object. */
void unnamed_text_put_json(const struct unnamed_text *unnamed, struct buffer *json);
