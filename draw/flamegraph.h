/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes a flame graph as one self-contained SVG file. It is complete without its script; the
 * script adds search, zoom and details of the frame under the pointer, and keeps both in the URL.
 * Names come from untrusted programs: U+FFFD replaces characters that XML does not allow or that
 * change the direction of writing.
 *
 * Rows in which every frame is narrower than a pixel are folded: without that, a single broken
 * stack of 127 frames would leave most of the picture empty. Zooming unfolds these rows.
 */

#include "query/sums/flame.h"
#include "query/text/output.h"

struct flamegraph {
	const struct flame *flame;
	const char *title;
	/* Lines that describe the window, shown under the title. */
	const char *head;
	/* The tree is reversed (query/sums/flame.h). */
	bool reverse;
};

/* Returns 0 or -ENOMEM. */
int flamegraph_write(const struct flamegraph *graph, struct output *output);
