/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes a flame graph as one self-contained SVG file. It is complete without its script; the
 * script adds search, zoom and details of the frame under the pointer. Names come from untrusted
 * programs: U+FFFD replaces characters that XML cannot hold or that change the direction of
 * writing.
 */

#include "query/sums/flame.h"
#include "query/text/output.h"

struct flamegraph {
	const struct flame *flame;
	const char *title;
	/* Lines that describe the window, shown under the title. */
	const char *head;
};

/* Returns 0 or -ENOMEM. */
int flamegraph_write(const struct flamegraph *graph, struct output *output);
