/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* CPUs by number, as the kernel and people write them: "0-3,8". */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"

#define CPU_LIST_MAX 65536

struct cpu_list {
	/* in order, each once */
	array_of(uint32_t) cpus;
};

/* A newline may follow. 0; -EINVAL when it is no list, names no CPU, or one beyond CPU_LIST_MAX;
 * -ENOMEM. */
int cpu_list_parse(const char *text, struct cpu_list *ret_list);
void cpu_list_done(struct cpu_list *list);
bool cpu_list_has(const struct cpu_list *list, uint32_t cpu);
