/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Puts tapes on the disk in threads of their own, so that neither a slow disk nor a large symbol
 * table holds up who fills them. What a tape holds so far goes into the spool, block by block
 * (recorder/sink/spooler.h), whatever else is at work; a tape that is over is handed over whole, is
 * named and sealed; then what is beyond the store's limits is removed. First of all, what recorders
 * before left in the spool is sealed.
 *
 * A store that cannot be written is tried again each second. Tapes wait for it in memory, up to a
 * bound; then the oldest one is given up, and the next one that is sealed tells of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "naming/finder.h"
#include "store/write/store-writer.h"
#include "tape/spool/spool.h"
#include "tape/tape.h"

struct sealer;

struct sealer_options {
	struct finder finder;
	/* of this boot: what was left in the spool is sealed. NULL: it is left alone */
	const char *boot_id;
	/* noted, and applied after each segment; NULL: nothing is removed. See sealer_limit() */
	const struct store_limits *limits;
	/* of the tapes that may wait; 0: no bound */
	uint64_t memory_bytes;
	/* what a recorder before us of this boot could not store: the next segment tells of it;
	 * count 0: nothing */
	struct tape_loss unsaved;
	/* a folder for names that were found, to find them again; NULL: none */
	const char *names_dir;
};

struct sealer_status {
	uint64_t segments;
	uint64_t bytes;
	/* of these segments, for the limits; and their bytes */
	uint64_t removed;
	uint64_t removed_bytes;
	/* of these segments: in a store that was removed or replaced since; and their bytes */
	uint64_t away;
	uint64_t away_bytes;
	/* tapes not sealed yet, the one at work included */
	size_t waiting;
	/* the store cannot be written: tried again each second, `error` says why */
	bool store_blocked;
	/* 0, or a negative errno: a tape was given up at the end, `error` says why */
	int failed;
	/* samples of tapes that will not be sealed */
	uint64_t unsaved_samples;
	/* by sealer_stop(): what is neither in a segment nor in the spool; count 0: nothing */
	struct tape_loss unsaved;
	/* how far the spool reaches: all before it is on the disk */
	uint64_t spooled_ns;
	/* so far: what could not be is tried again behind each segment */
	struct store_recovered recovered;
	struct error error;
	/* the last trouble that cost no samples: an index, a limit that cannot be kept */
	struct error warning;
};

/* The writer must outlive the sealer, which is the only one to use it meanwhile. The options are
 * borrowed. */
int sealer_start(struct store_writer *writer, const struct sealer_options *options,
		 struct sealer **ret_sealer, struct error *error);
/* From here on these are the limits, which are copied. Only for one that was given limits. */
void sealer_limit(struct sealer *sealer, const struct store_limits *limits);
/*
 * Nothing more will come: what waits is sealed. For who cannot wait for as long as it takes:
 * sealer_ended() says whether sealer_stop() would return at once. A store that hangs may never let
 * it; the sealer and the writer then have to stay as they are until the process ends.
 */
void sealer_end(struct sealer *sealer);
bool sealer_ended(struct sealer *sealer);
/* Waits until all is sealed, ends the thread. What cannot be sealed then is given up, but for what
 * of it is in the spool. */
struct sealer *sealer_stop(struct sealer *sealer, struct sealer_status *ret_status);

/* The number of the next tape of this boot. */
uint64_t sealer_number(struct sealer *sealer);
/* Whether there is room for another block: those before are on the disk, or nearly so. */
bool sealer_takes_block(struct sealer *sealer);
/* Gives the contents of a block away, also on failure. 0 or -ENOMEM. */
int sealer_put_block(struct sealer *sealer, struct spool_block *block);
/* Gives a tape away; it belongs to the sealer, also on failure. */
int sealer_put(struct sealer *sealer, struct tape *tape);
/* Waits until fewer than so many tapes wait, for those who can. -EIO when the store cannot be
 * written. */
int sealer_wait(struct sealer *sealer, size_t fewer_than);
void sealer_status(struct sealer *sealer, struct sealer_status *ret_status);
