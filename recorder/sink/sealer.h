/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes tapes to the disk in threads of its own, so that neither a slow disk nor a large symbol
 * table blocks the drain. The growing tape goes to the spool, block by block
 * (recorder/sink/spooler.h), whatever else happens. A complete tape is named and sealed; then
 * segments beyond the store's limits are removed. At the start, seals what earlier recorders left
 * in the spool.
 *
 * If the store cannot be written, tries again each second. Tapes wait in memory up to a limit.
 * Beyond it, the oldest one whose spool is complete leaves the memory, and is sealed from the spool
 * later. Without such a tape, the oldest one is dropped as unsaved, and the next segment holds that
 * loss.
 *
 * A tape is named at most once. If a recorder dies while it names a tape, the next one seals the
 * tape without names.
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
	 * Written to the store and applied after each segment; NULL: nothing is removed. See
	 * sealer_set_limits().
	 */
	const struct store_limits *limits;
	/* Limit for the tapes that wait; 0: none. */
	uint64_t memory_bytes;
	/* Length of a segment, a third of which is the time to name it; 0: the usual time. */
	uint64_t segment_ns;
	/*
	 * Loss of an earlier recorder of this boot, which the next segment will hold; count 0:
	 * none.
	 */
	struct tape_loss unsaved;
	/* Folder of the name cache; NULL: none. */
	const char *names_dir;
};

/* The file whose names the sealer searches. */
struct sealer_naming {
	/* "": none */
	char file[256];
	/* The number of its module in the tape, and that of all modules. */
	size_t number;
	size_t count;
	/* When the sealer began with the file, CLOCK_MONOTONIC. */
	uint64_t since_ns;
};

struct sealer_status {
	uint64_t segments;
	uint64_t bytes;
	/* What the limits removed since the start: only its sums and its times are set. */
	struct store_retained retained;
	/* The segments among `segments` whose store was removed or replaced, and their bytes. */
	uint64_t away;
	uint64_t away_bytes;
	/* Tapes that are not sealed yet, with the present one and those that wait in the spool. */
	size_t waiting;
	struct sealer_naming naming;
	/* The store cannot be written, as `error` says; the sealer tries again each second. */
	bool store_blocked;
	/* A negative errno: a tape was dropped at the end, as `error` says. Otherwise 0. */
	int failed;
	/* Samples of tapes that will not be sealed. */
	uint64_t unsaved_samples;
	/* From sealer_stop(): what neither a segment nor the spool holds; count 0: nothing. */
	struct tape_loss unsaved;
	/* All before this time is on the disk. */
	uint64_t spooled_ns;
	/* The tapes recovered so far; the sealer tries the rest again after each segment. */
	struct store_recovered recovered;
	struct error error;
	/* The last problem that cost no samples, such as with the index or a limit. */
	struct error warning;
};

/*
 * Starts the threads. The writer must outlive the sealer, and nobody else may use it meanwhile. The
 * options are borrowed. Returns 0 or a negative errno.
 */
int sealer_start(struct store_writer *writer, const struct sealer_options *options,
		 struct sealer **ret_sealer, struct error *error);
/* Replaces the limits by a copy of these. Only for a sealer that was started with limits. */
void sealer_set_limits(struct sealer *sealer, const struct store_limits *limits);
/*
 * Requests the end: no more tapes will come, and those that wait are sealed. A store that hangs may
 * delay this forever. sealer_ended() returns whether sealer_stop() would return at once. If it
 * never does, leave the sealer and the writer as they are until the process exits.
 */
void sealer_end(struct sealer *sealer);
bool sealer_ended(struct sealer *sealer);
/*
 * Waits until all tapes are sealed, and frees the sealer. A tape that cannot be sealed now is lost,
 * except for what the spool holds.
 */
struct sealer *sealer_stop(struct sealer *sealer, struct sealer_status *ret_status);

/* Returns the number for the next tape of this boot. */
uint64_t sealer_next_number(struct sealer *sealer);
/* Returns whether another block fits: most earlier blocks are on the disk. */
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
