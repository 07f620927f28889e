/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Names the frames of a tape before it is sealed: finds and verifies the file of each module, and
 * gets names from the naming helper (namer/name-helper.h). Keeps names for the next tape if the
 * next tape uses them, too.
 *
 * Frames of a file stay without names if the helper cannot cope with the file, or if the time for
 * the tape is over. The files of the cgroup that has used the least time come first, so that slow
 * files of one cgroup do not take the time from the others.
 */

#include <stdint.h>

#include "base/clock.h"
#include "naming/finder.h"
#include "naming/name-cache.h"
#include "tape/tape.h"

struct namer;

/*
 * Creates a namer. The cache must outlive the namer; without a cache (NULL), the namer keeps names
 * in memory only. Returns 0 or -ENOMEM.
 */
int namer_new(const struct finder *finder, struct name_cache *cache, struct namer **ret_namer);
struct namer *namer_free(struct namer *namer);
DEFINE_CLEANUP(namer, struct namer *, namer_free)

/* The time for a tape, unless namer_set_budget() sets another one. */
#define NAMER_BUDGET_NS (60 * NSEC_PER_SEC)
void namer_set_budget(struct namer *namer, uint64_t budget_ns);
/*
 * Bounds the CPU time to read the files of programs in all further tapes, until the next call.
 * Other names do not count: those from the cache, of generated code and of the kernel.
 */
void namer_set_work(struct namer *namer, uint64_t work_ns);
/* Returns the rest of that time. */
uint64_t namer_work_left(const struct namer *namer);
/*
 * Calls step() before each module, the `number`-th of `count`, with the path of the module's file,
 * and waits() several times per second while the namer waits for an answer about a file.
 */
void namer_observe(struct namer *namer,
		   void (*step)(void *context, const char *path, size_t number, size_t count),
		   void (*waits)(void *context), void *context);

/*
 * Names frames without a name, and sets the build-ids of modules. Searches for a module's file
 * first in the root of the process that mapped it, because a container has its own files. The facts
 * "kernel_text" and "kernel_end" state the addresses of the kernel's code. Sets the fact "unnamed"
 * to the number of frames without a name, for each reason. Returns 0 or -ENOMEM.
 */
int namer_run(struct namer *namer, struct tape *tape);
/*
 * Leaves a tape without names, because a recorder died while it named the tape, and notes that as
 * the reason. Returns 0 or -ENOMEM.
 */
int namer_skip(struct tape *tape);
