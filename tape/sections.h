/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The sections of a segment, each an encoder with its decoder. Only segment.c and its tests use them. */

#include "base/bytes.h"
#include "tape/segment.h"
#include "tape/tape.h"

#define SECTION_SUMMARY 1

struct section {
	uint32_t id;
	const char *name;
	/* Failure is in the buffer. */
	void (*encode)(const struct tape *tape, struct buffer *raw);
	/* 0, -ENOMEM, -EBADMSG; a failed reader is damage too. Leaves no bytes. */
	int (*decode)(struct tape *tape, struct reader *raw);
};

/* In the order in which they are decoded: rows come after what they refer to. Ends with a NULL name. */
extern const struct section sections[];

int summary_decode(struct reader *raw, struct segment_summary *ret_summary);
