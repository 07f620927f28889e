/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes a flame graph as one self-contained SVG file. It is complete without its script. The
 * script adds search, zoom and details of the frame under the pointer, and keeps search and zoom in
 * the URL. Names come from untrusted programs: base/foreign replaces characters that XML does not
 * allow or that change the direction of writing.
 *
 * Rows in which every frame is narrower than a pixel are folded. A single broken stack of 127
 * frames would otherwise leave most of the picture empty. Zooming unfolds these rows.
 */

#include "query/sums/flame.h"
#include "query/text/output.h"

/* The unit of a graph of two windows. A millionth of it is a sample of the tree. */
enum flamegraph_compared {
	/* The graph is of one window. */
	FLAMEGRAPH_ONE,
	FLAMEGRAPH_CPUS,
	/* Samples per second, because the frequency is unknown. */
	FLAMEGRAPH_RATES,
	/* Parts of all samples of a window. */
	FLAMEGRAPH_PARTS,
};

struct flamegraph {
	const struct flame *flame;
	const char *title;
	/* Lines that describe the window, shown under the title. The graph breaks long lines. */
	const char *head;
	/* The tree is reversed (query/sums/flame.h). */
	bool reverse;
	/*
	 * The tree has stacks of two windows: a frame is as wide as both together, and its colour
	 * is the change from the earlier to the later one.
	 */
	enum flamegraph_compared compared;
};

/* Returns 0 or -ENOMEM. */
int flamegraph_write(const struct flamegraph *graph, struct output *output);
