/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A flame graph as one SVG file that needs nothing else: it is drawn without its script too, which
 * searches, zooms and tells of the frame under the pointer. Names come from anybody: what XML
 * cannot hold, or what turns the direction of writing, is U+FFFD.
 */

#include "query/sums/flame.h"
#include "query/text/output.h"

struct flamegraph {
	const struct flame *flame;
	const char *title;
	/* what it is of: lines, which are shown under the title */
	const char *head;
};

/* 0 or -ENOMEM. */
int flamegraph_write(const struct flamegraph *graph, struct output *output);

/* The script and the styles (flamegraph-script.c). */
extern const char flamegraph_style[];
extern const char flamegraph_script[];
