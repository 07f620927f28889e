/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Names and seals tapes in a thread of its own, so that a slow disk or a large symbol table does not hold up the drain. Tapes are
 * handed over whole: who puts one does not touch it again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "naming/finder.h"
#include "store/store-writer.h"
#include "tape/tape.h"

struct sealer;

struct sealer_status {
	uint64_t segments;
	uint64_t bytes;
	size_t waiting; /* tapes not sealed yet, the one at work included */
	bool stalled; /* the store cannot be written: tried again each second, `error` says why */
	int failed; /* 0, or a negative errno: a tape was given up, `error` says why */
	uint64_t given_up; /* samples of such tapes */
	struct error error;
};

/* So many tapes wait in memory for a store that cannot be written; with one more, the oldest is given up. */
#define SEALER_WAITING_MAX 16

/* The writer must outlive the sealer, which is the only one to use it meanwhile. */
int sealer_start(struct store_writer *writer, const struct finder *finder,
	struct sealer **ret_sealer, struct error *error);
/* Waits until all is sealed, ends the thread.. */
struct sealer *sealer_stop(struct sealer *sealer, struct sealer_status *ret_status);

/* The number of the next tape of this boot. */
uint64_t sealer_number(struct sealer *sealer);
/* Gives a tape away; it belongs to the sealer, also on failure. */
int sealer_put(struct sealer *sealer, struct tape *tape);
/* Waits until fewer than so many tapes wait, for those who can. -EIO when the store cannot be written. */
int sealer_wait(struct sealer *sealer, size_t fewer_than);
void sealer_status(struct sealer *sealer, struct sealer_status *ret_status);
