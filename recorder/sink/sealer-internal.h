/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Shared by the parts of the sealer. sealer.c is its thread, sealer-deferred.c handles tapes in the
 * spool, and sealer-put.c has the functions for other threads.
 */

#include <pthread.h>

#include "base/array.h"
#include "naming/namer.h"
#include "recorder/sink/retainer.h"
#include "recorder/sink/sealer.h"
#include "recorder/sink/spooler.h"

/*
 * Invariants:
 * (1) the lock guards the members below it in the struct. The members above belong to the thread
 *     once the thread runs, except the spooler. A thread may take the spooler's lock while it holds
 *     this lock, but not the other way round;
 * (2) the thread seals tapes in the order in which they were put. The spooler drops the blocks of a
 *     tape that is sealed or unsaved;
 * (3) if at_work, the thread works on tapes.items[0], and other threads do not read that tape;
 * (4) a deferred tape is complete in the spool, and stays there until it is sealed;
 * (5) a tape is named at most once: a named tape is not deferred, and `resumed` stays in memory
 *     until it is sealed.
 */

struct waiting_tape {
	struct tape *tape;
	uint64_t bytes;
	/* The number of the tape's blocks. The segment may get another number. */
	uint64_t sequence;
	bool named;
};

/* A tape that waits in the spool. */
struct deferred_tape {
	uint64_t sequence;
	/* The samples of the tape as a loss, in case its spool disappears. */
	struct tape_loss samples;
};

struct sealer {
	struct store_writer *writer;
	const struct sealer_options *options;
	/* NULL: none. */
	struct name_cache *cache;
	struct namer *namer;
	pthread_t thread;
	struct spooler *spooler;
	struct spooler_owner owner;
	struct retainer retainer;
	/*
	 * store_writer_replacements() at the last check: how often the store was removed or
	 * replaced.
	 */
	uint64_t renewed;
	/* Additional seconds before the next try after a failure. */
	unsigned int extra_seconds;
	/* A segment has the unsaved loss of the earlier recorder. */
	bool note_sealed;
	/* Some spool files of earlier recorders are not sealed yet. */
	bool leftovers;
	/* The oldest deferred tape, once the thread has loaded it. */
	struct waiting_tape resumed;
	/* The time at which the limits were last applied, CLOCK_MONOTONIC. */
	uint64_t retained_ns;
	/* The CPU time that is left to name tapes, and when it was last refilled. */
	uint64_t naming_left_ns;
	uint64_t naming_filled_ns;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	array_of(struct waiting_tape) tapes;
	array_of(struct deferred_tape) deferred;
	/* Tapes that could not be sealed; a part of each may be in the spool. */
	array_of(struct waiting_tape) unsaved_tapes;
	bool at_work;
	/* The spooler found the disk full. */
	bool room_wanted;
	bool ending;
	/* The thread is about to end. */
	bool ended;
	/* The limits of the options, or newer limits. */
	struct store_limits limits;
	bool limits_noted;
	/* Loss that is not in a segment yet; count 0: none. */
	struct tape_loss unsaved;
	struct sealer_status status;
};

/* Updates the number of waiting tapes in the status. The caller holds the lock. */
void sealer_count_waiting(struct sealer *sealer);
/* Removes a tape from `tapes` and returns it. The caller holds the lock. */
struct tape *sealer_remove_tape(struct sealer *sealer, size_t at);

/* The functions below are for the sealer's thread. */

/* Sets the warning of the status, if the error has a text. */
void sealer_warn(struct sealer *sealer, const struct error *error);
/* Removes segments beyond the limits. Returns whether that freed space. */
bool sealer_retain(struct sealer *sealer);
/* Names a tape, unless it is already named. Returns 0 or -ENOMEM. */
int sealer_name(struct sealer *sealer, struct waiting_tape *waiting, struct error *error);
/*
 * Seals the oldest tape that waits in the spool. A tape that fails for good, or at the end, stays
 * in the spool for the next recorder. Returns 1 if the tape is done; 0 if no tape waits; a negative
 * errno if the thread must try again.
 */
int sealer_seal_deferred(struct sealer *sealer, struct error *error);
