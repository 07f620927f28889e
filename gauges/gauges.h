/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Figures of the host over time. A figure has a name that ends in its unit, "cpu3/user_ms", and is
 * a whole number: for the most part a counter that only grows, of which the differences are what
 * one looks at. Sources know when their time has come, and what they cost.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gauges;

/* Where the figures go. Negative answers end a reading and are handed on. */
struct gauges_sink {
	/* A number for a name, asked for once. */
	int (*name)(void *context, const char *name, uint32_t *ret_id);
	int (*put)(void *context, uint32_t id, int64_t value);
	void *context;
};

/* What a source has cost so far. */
struct gauges_cost {
	const char *source;
	uint64_t reads;
	uint64_t failures;
	uint64_t cpu_ns;
	/* of the wall clock: a file that makes its reader wait */
	uint64_t longest_ns;
};

/* Of the host below `root`, "" for this one. The sink is borrowed. 0 or -ENOMEM. */
int gauges_new(const char *root, const struct gauges_sink *sink, struct gauges **ret_gauges);
struct gauges *gauges_free(struct gauges *gauges);

/* Asked before each source is read, by its name, which is left out where the answer is false; told
 * with NULL when it was read. */
void gauges_guard(struct gauges *gauges, bool (*guard)(void *context, const char *source),
		  void *context);

/* Reads those whose time has come in this second of a count that goes on by one each time. What
 * cannot be read is no failure of ours. */
int gauges_read(struct gauges *gauges, uint64_t second);

size_t gauges_count(const struct gauges *gauges);
void gauges_cost(const struct gauges *gauges, size_t source, struct gauges_cost *ret_cost);
