/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Names and seals tapes in a thread of its own, so that a slow disk or a large symbol table does not hold up the drain. Tapes are
 * handed over whole: who puts one does not touch it again.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/store-writer.h"
#include "store/tape.h"

struct sealer;

struct sealer_status {
	uint64_t segments;
	uint64_t bytes;
	size_t waiting; /* tapes not sealed yet, the one at work included */
	int failed; /* 0, or the first negative errno, with its text in `error` */
	struct error error;
};

/* The writer must outlive the sealer, which is the only one to use it meanwhile. */
int sealer_start(struct store_writer *writer, struct sealer **ret_sealer, struct error *error);
/* Waits until all is sealed, ends the thread.. */
struct sealer *sealer_stop(struct sealer *sealer, struct sealer_status *ret_status);

/* Gives a tape away, and the pids that go with its modules (namer.h); both belong to the sealer, also on failure. */
int sealer_put(struct sealer *sealer, struct tape *tape, int32_t *pids, size_t pid_count);
void sealer_status(struct sealer *sealer, struct sealer_status *ret_status);
