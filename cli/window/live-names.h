/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Names for what is not sealed yet, from the files and processes of this host as they are now. */

#include "naming/namer.h"
#include "tape/tape.h"

/* Zeroed is ready. */
struct live_names {
	/* for tapes of this boot: their processes may still run */
	struct namer *here;
	/* for those of another one, whose recorder was killed */
	struct namer *before;
};

/* For a question's hook; context is the struct live_names. 0 or -ENOMEM. */
int live_names_give(void *context, struct tape *tape);
void live_names_done(struct live_names *names);
