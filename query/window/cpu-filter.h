/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which CPUs a person asked for. */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"

/* A set of CPUs; a zeroed one is all of them. */
struct cpu_set_filter {
	/* by CPU number */
	array_of(bool) wanted;
};

/* "3,8-11". -EINVAL with a text; at most CPU 65535. */
int cpu_filter_parse(const char *text, struct cpu_set_filter *ret_filter, struct error *error);
void cpu_filter_done(struct cpu_set_filter *filter);
/* This one too; the first makes a set of it that is no longer all. 0 or -ENOMEM. */
int cpu_filter_add(struct cpu_set_filter *filter, uint32_t cpu);
bool cpu_filter_passes(const struct cpu_set_filter *filter, uint32_t cpu);
/* "all", or the CPUs as cpu_filter_parse() reads them, in order. */
void cpu_filter_describe(const struct cpu_set_filter *filter, struct buffer *text);
/* The same into so much room; a list that is too long for it ends in dots. 0 or -ENOMEM. */
int cpu_filter_list(const struct cpu_set_filter *cpus, char *text, size_t size);
