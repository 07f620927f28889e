/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Names samples that are not sealed yet. The names come from the present files and processes of
 * this host.
 */

#include "naming/namer.h"
#include "tape/tape.h"

/* Ready to use when zeroed. */
struct live_names {
	/* For tapes of this boot, whose processes may still run. */
	struct namer *here;
	/* For tapes of another boot, whose recorder was killed. */
	struct namer *before;
};

/*
 * The hook of a question that names a tape; `context` is the struct live_names. Returns 0 or
 * -ENOMEM.
 */
int live_names_give(void *context, struct tape *tape);
void live_names_done(struct live_names *names);
