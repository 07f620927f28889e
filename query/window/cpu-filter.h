/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The set of CPUs that a query selects. */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"

/* A set of CPUs. A zeroed filter selects all CPUs. */
struct cpu_set_filter {
	/* indexed by CPU number */
	array_of(bool) wanted;
};

/*
 * Parses a list such as "3,8-11". CPU numbers go up to 65535. Returns 0, -ENOMEM, or -EINVAL with a
 * message.
 */
int cpu_filter_parse(const char *text, struct cpu_set_filter *ret_filter, struct error *error);
void cpu_filter_done(struct cpu_set_filter *filter);
/*
 * Adds a CPU. The first call turns a filter for all CPUs into a set with only this one. Returns 0
 * or -ENOMEM.
 */
int cpu_filter_add(struct cpu_set_filter *filter, uint32_t cpu);
bool cpu_filter_passes(const struct cpu_set_filter *filter, uint32_t cpu);
/* Appends "all", or the sorted list in the form that cpu_filter_parse() reads. */
void cpu_filter_describe(const struct cpu_set_filter *filter, struct buffer *text);
/*
 * Writes the same text into a fixed buffer. A list that does not fit ends in "...". Returns 0 or
 * -ENOMEM.
 */
int cpu_filter_list(const struct cpu_set_filter *cpus, char *text, size_t size);
