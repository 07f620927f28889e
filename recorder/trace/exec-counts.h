/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Counts new cgroups of units and containers, because each start of a service or a container makes
 * a cgroup. This object reads the kernel's mkdir events. So it also counts starts between two reads
 * of gauges/units.c, which sees at most one start per minute. The object counts from its own start
 * on, and misses cgroups whose records were lost. With cgroup v1, one start makes a cgroup in
 * several hierarchies; the highest count of a hierarchy is used.
 */

#include "tape/tape.h"

/*
 * Beyond this number of names, the object forgets all names and counts from 0. Otherwise the names
 * of pods would fill the memory.
 */
#define EXEC_COUNTS_MAX 4096

struct exec_counts;

/* Creates an object without counts. Returns 0 or -ENOMEM. */
int exec_counts_new(struct exec_counts **ret_counts);
struct exec_counts *exec_counts_free(struct exec_counts *counts);

/*
 * Counts a new cgroup. `root` is the kernel's number of the cgroup's hierarchy. Returns 0 or
 * -ENOMEM.
 */
int exec_counts_made(struct exec_counts *counts, uint64_t root, const char *path);
/*
 * Puts the counters into the tape (TAPE_GAUGE_MADE) once per minute, and at the end of a tape
 * (`last`). Returns 0 or -ENOMEM.
 */
int exec_counts_give(struct exec_counts *counts, struct tape *tape, uint64_t now_ns, bool last);
