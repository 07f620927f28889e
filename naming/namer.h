/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Names the frames of a tape before it is sealed: finds for each module the file that was mapped,
 * makes sure that it is that file, and asks the symbolizer. What is found is kept for the next tape
 * as long as that one uses it too.
 */

#include <stdint.h>

#include "naming/finder.h"
#include "naming/name-cache.h"
#include "tape/tape.h"

struct namer;

/* cache is borrowed, or NULL: then answers are kept in memory alone. */
int namer_new(const struct finder *finder, struct name_cache *cache, struct namer **ret_namer);
struct namer *namer_free(struct namer *namer);
DEFINE_CLEANUP(namer, struct namer *, namer_free)

/*
 * Names what has no name yet, and gives modules the build-id of their file. A module is looked for
 * first in the root of the process that the tape has for it: a container's files are not ours. The
 * facts "kernel_text" and "kernel_end", where there are, say where the kernel's code lay. What is
 * left without a name is told in the fact "unnamed". 0 or -ENOMEM.
 */
int namer_run(struct namer *namer, struct tape *tape);
