/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A sink for the gauges of a tree. All functions CHECK. */

#include "base/array.h"
#include "base/intern.h"
#include "gauges/gauges.h"
#include "tests/tree.h"

#define NOTHING INT64_MIN

/* Keeps the last value of each gauge, and the number of values. */
struct kept {
	struct strings names;
	array_of(int64_t) values;
	size_t asked;
	size_t puts;
	/* what the sink returns for the next values */
	int answer;
};

static inline int kept_name(void *context, const char *name, uint32_t *ret_id)
{
	struct kept *kept = context;

	kept->asked++;
	return strings_add(&kept->names, name, strlen(name), ret_id);
}

static inline int kept_put(void *context, uint32_t id, int64_t value)
{
	struct kept *kept = context;

	kept->puts++;
	while (kept->values.count <= id)
		CHECK_EQ(array_push(&kept->values, NOTHING), 0);
	kept->values.items[id] = value;
	return kept->answer;
}

static inline void kept_done(struct kept *kept)
{
	strings_done(&kept->names);
	array_done(&kept->values);
}

static inline int64_t value_of(const struct kept *kept, const char *name)
{
	for (uint32_t id = 0; id < kept->values.count; id++)
		if (strcmp(strings_at(&kept->names, id), name) == 0)
			return kept->values.items[id];
	return NOTHING;
}

/* Reads all sources once. */
static inline void read_all(const struct tree *tree, struct kept *kept)
{
	const struct gauges_sink sink = { kept_name, kept_put, kept };
	struct gauges *gauges;

	CHECK_EQ(gauges_new(tree->root, &sink, &gauges), 0);
	CHECK_EQ(gauges_read(gauges, 0), 0);
	gauges_free(gauges);
}
