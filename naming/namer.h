/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Names the frames of a tape before it is sealed: finds and verifies the file of each module, and
 * gets names from the naming helper (namer/name-helper.h). Keeps names for the next tape if the
 * next tape uses them, too.
 *
 * A file that the helper cannot cope with keeps its frames without names, and so do files beyond
 * the time for a tape. The files of the cgroup that has used the least time come first, so that
 * slow files of one cgroup do not take the time from the others.
 */

#include <stdint.h>

#include "base/clock.h"
#include "naming/finder.h"
#include "naming/name-cache.h"
#include "tape/tape.h"

struct namer;

/*
 * Creates a namer. The cache must outlive the namer; NULL: names are kept in memory only. Returns 0
 * or -ENOMEM.
 */
int namer_new(const struct finder *finder, struct name_cache *cache, struct namer **ret_namer);
struct namer *namer_free(struct namer *namer);
DEFINE_CLEANUP(namer, struct namer *, namer_free)

/* The time for a tape, unless namer_set_budget() sets another one. */
#define NAMER_BUDGET_NS (60 * NSEC_PER_SEC)
void namer_set_budget(struct namer *namer, uint64_t budget_ns);
/* Calls step() before each module, the `number`-th of `count`, with the path of its file. */
void namer_observe(struct namer *namer,
		   void (*step)(void *context, const char *path, size_t number, size_t count),
		   void *context);

/*
 * Names frames without a name, and sets the build-ids of modules. Searches for a module first in
 * the root of the process that mapped it, because a container has its own files. The facts
 * "kernel_text" and "kernel_end" state the addresses of the kernel's code. Sets the fact "unnamed"
 * to the number of frames without a name. Returns 0 or -ENOMEM.
 */
int namer_run(struct namer *namer, struct tape *tape);
/*
 * Leaves a tape without names, because a recorder died while it named the tape, and notes that as
 * the reason. Returns 0 or -ENOMEM.
 */
int namer_skip(struct tape *tape);
