/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Shared by the parts of the sealer: sealer.c is its thread, and sealer-put.c has the functions of
 * other threads.
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
 *     once it runs, except the spooler, whose own lock is taken inside of ours;
 * (2) tapes are sealed in the order in which they were put. The blocks of a tape that is sealed or
 *     unsaved are dropped;
 * (3) tapes.items[0] is the tape that the thread works on, if at_work. Nobody else looks into it;
 * (4) a deferred tape is complete in the spool, and stays there until it is sealed.
 */

struct waiting_tape {
	struct tape *tape;
	uint64_t bytes;
	/* The number of the tape's blocks. The segment may get another number. */
	uint64_t sequence;
	bool named;
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
	/* How often the store was found missing or replaced. */
	uint64_t renewed;
	/* Additional seconds before the next try after a failure. */
	unsigned int extra_seconds;
	/* A segment holds the unsaved loss of the recorder before us. */
	bool note_sealed;
	/* Spool files of earlier recorders could not be sealed yet. */
	bool leftovers;
	/* The last time that the limits were applied, CLOCK_MONOTONIC. */
	uint64_t retained_ns;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	array_of(struct waiting_tape) tapes;
	/* The numbers of tapes that wait in the spool. */
	array_of(uint64_t) deferred;
	/* Tapes that were not sealed by the end; a part of them is in the spool. */
	array_of(struct tape *) unsaved_tapes;
	bool at_work;
	/* The spooler found the disk full. */
	bool room_wanted;
	bool ending;
	/* The thread is about to end. */
	bool ended;
	/* The limits of the options, or newer limits. */
	struct store_limits limits;
	bool limits_noted;
	/* Loss that no segment holds yet; count 0: none. */
	struct tape_loss unsaved;
	struct sealer_status status;
};

/* Updates the number of tapes that wait. The caller holds the lock. */
void sealer_count_waiting(struct sealer *sealer);
/* Removes a tape from those that wait in memory. The caller holds the lock. */
struct tape *sealer_remove_tape(struct sealer *sealer, size_t at);
