/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A list of CPU numbers in the notation of the kernel: "0-3,8". */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"

#define CPU_LIST_MAX 65536

struct cpu_list {
	/* In ascending order, without duplicates. */
	array_of(uint32_t) cpus;
};

/*
 * Parses a list; a newline may follow it. Returns 0, -ENOMEM, or -EINVAL if the text is not a list,
 * is empty, or contains a CPU number of at least CPU_LIST_MAX.
 */
int cpu_list_parse(const char *text, struct cpu_list *ret_list);
void cpu_list_done(struct cpu_list *list);
bool cpu_list_has(const struct cpu_list *list, uint32_t cpu);
