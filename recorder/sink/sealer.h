/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes tapes to the disk in separate threads, so that neither a slow disk nor a large symbol
 * table blocks the drain. The spooler's thread writes the growing tape to the spool, block by block
 * (recorder/sink/spooler.h). The sealer's thread names and seals a complete tape, and then removes
 * segments beyond the store's limits. At the start, it seals the tapes that earlier recorders left
 * in the spool.
 *
 * If the store cannot be written, the sealer tries again, at first after a second and later after
 * at most 16 s. Tapes wait in memory up to a limit. Above that limit, the oldest tape leaves the
 * memory. If it is completely in the spool, the sealer later seals it from the spool. Otherwise the
 * sealer drops the tape as unsaved, and the next segment has that loss.
 *
 * A tape is named at most once. If a recorder dies while it names a tape, the next recorder seals
 * that tape without names.
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
	/* The present boot: recover the spool of earlier recorders. NULL: leave it alone. */
	const char *boot_id;
	/*
	 * Limits that the sealer writes to the store, and applies after each segment; NULL: it does
	 * not remove segments. See sealer_set_limits().
	 */
	const struct store_limits *limits;
	/* Limit for the memory of waiting tapes; 0: no limit. */
	uint64_t memory_bytes;
	/*
	 * Length of a segment; a third of it is the time to name the segment. 0: NAMER_BUDGET_NS.
	 */
	uint64_t segment_ns;
	/*
	 * Loss of an earlier recorder of this boot, which the sealer adds to the next segment;
	 * count 0: none.
	 */
	struct tape_loss unsaved;
	/* Folder of the name cache; NULL: none. */
	const char *names_dir;
};

/* The file whose names the sealer searches. */
struct sealer_naming {
	/* "": none */
	char file[256];
	/* The number of the file's module in the tape, and the number of all modules. */
	size_t number;
	size_t count;
	/* When the sealer began with the file, CLOCK_MONOTONIC. */
	uint64_t since_ns;
};

struct sealer_status {
	uint64_t segments;
	uint64_t bytes;
	/*
	 * The segments that the limits removed since the start: only the sums and the times are
	 * set.
	 */
	struct store_retained retained;
	/* The segments among `segments` whose store was removed or replaced, and their bytes. */
	uint64_t away;
	uint64_t away_bytes;
	/*
	 * Tapes that are not sealed yet, also the one that is being sealed and those in the spool.
	 */
	size_t waiting;
	struct sealer_naming naming;
	/* The store cannot be written, for the reason in `error`; the sealer tries again. */
	bool store_blocked;
	/* A negative errno if a tape was dropped, for the reason in `error`; otherwise 0. */
	int failed;
	/* Samples of tapes that will not be sealed. */
	uint64_t unsaved_samples;
	/*
	 * Set by sealer_stop(): the loss that is in neither a segment nor the spool; count 0: none.
	 */
	struct tape_loss unsaved;
	/* All samples before this time are on the disk. */
	uint64_t spooled_ns;
	/* The tapes recovered so far; the sealer tries the rest again after each segment. */
	struct store_recovered recovered;
	struct error error;
	/* The last problem that did not cost samples, such as with the index or a limit. */
	struct error warning;
};

/*
 * Starts the threads. The writer must outlive the sealer, and the caller must not use the writer
 * meanwhile. Borrows the options. Returns 0 or a negative errno.
 */
int sealer_start(struct store_writer *writer, const struct sealer_options *options,
		 struct sealer **ret_sealer, struct error *error);
/* Replaces the limits by a copy of these. Only for a sealer that was started with limits. */
void sealer_set_limits(struct sealer *sealer, const struct store_limits *limits);
/*
 * Requests the end: no more tapes will come, and the sealer seals the waiting tapes. A store that
 * hangs may delay the end forever. sealer_ended() returns whether sealer_stop() would return at
 * once. If it never returns true, leave the sealer and the writer as they are until the process
 * exits.
 */
void sealer_end(struct sealer *sealer);
bool sealer_ended(struct sealer *sealer);
/*
 * Waits until all tapes are sealed, and frees the sealer. A tape that cannot be sealed now is lost,
 * except for its part in the spool.
 */
struct sealer *sealer_stop(struct sealer *sealer, struct sealer_status *ret_status);

/* Returns the number for the next tape of this boot. */
uint64_t sealer_next_number(struct sealer *sealer);
/*
 * Returns whether the spooler has room for another block. If not, earlier blocks wait for the disk.
 */
bool sealer_has_room(struct sealer *sealer);
/* Takes ownership of the block's contents, also on failure. Returns 0 or -ENOMEM. */
int sealer_put_block(struct sealer *sealer, struct spool_block *block);
/* Takes ownership of the tape, also on failure. Returns 0 or -ENOMEM. */
int sealer_put(struct sealer *sealer, struct tape *tape);
/*
 * Waits until fewer than `fewer_than` tapes wait. Returns 0, or -EIO if the store cannot be
 * written.
 */
int sealer_wait(struct sealer *sealer, size_t fewer_than);
/* Sets *ret_status to the present state of sealer and spooler. */
void sealer_status(struct sealer *sealer, struct sealer_status *ret_status);
