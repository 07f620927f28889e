/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Names for samples that are not sealed yet. They come from the present files and processes of this
 * host.
 */

#include "naming/namer.h"
#include "tape/tape.h"

/* Zeroed is ready to use. */
struct live_names {
	/* For tapes of this boot, whose processes may still run. */
	struct namer *here;
	/* For tapes of another boot, whose recorder was killed. */
	struct namer *before;
};

/* A question's hook; `context` is the struct live_names. Returns 0 or -ENOMEM. */
int live_names_give(void *context, struct tape *tape);
void live_names_done(struct live_names *names);
