/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * CPU time added up by CPU, by function and by the name of the thread, over any number of tapes. Idle is not work: it is counted with
 * the CPUs and nowhere else.
 *
 * Threads are told apart by name, so that a time can be held against another one in which other processes ran: "kworker/3:1" and
 * "kworker/u8:2" are one group, shown as kworker/ and a star. Details, which tell who was on which CPU, are of samples only.
 */

#include "base/intern.h"
#include "query/filter.h"
#include "tape/load.h"
#include "query/map.h"
#include "tape/tape.h"

enum tally_parts {
	TALLY_CPUS = 1,
	TALLY_NAMES = 2, /* of functions and threads */
	TALLY_DETAILS = 4,
};

struct tally_function {
	uint64_t self_ns, total_ns;
	bool kernel;
};

/* CPU time by up to three numbers. */
struct tally_row {
	uint32_t a, b, c;
	uint64_t ns;
};

struct tally_rows {
	array_of(struct tally_row) list;
	struct map known; /* rows, each plus 1 */
};

struct tally {
	struct strings names; /* "[libc.so.6]" is a function of it that has no name */
	array_of(struct tally_function) functions; /* by name */
	array_of(struct load) groups; /* by name */
	array_of(struct load) cpus; /* by number */
	struct load all; /* of the names */
	uint64_t samples;
	uint64_t sample_ns; /* that the last tape's samples stand for */
	uint64_t host_cpus; /* that were recorded; 0: not known */
	struct tally_rows threads; /* pid, tid, group */
	struct tally_rows places; /* CPU, thread (a row of those) */
	struct tally_rows spots; /* CPU, group, function on top of the stack */
	struct tally_rows calls; /* caller, callee */
	struct tally_scratch *scratch;
};

int tally_new(struct tally **ret_tally);
struct tally *tally_free(struct tally *tally);
DEFINE_CLEANUP(tally, struct tally *, tally_free)

/*
 * The tape's samples, of which each stands for so much CPU time, and for more where the CPU was throttled; with kinds (enum load_kind, by
 * sample) where frames were taken away that would tell them, else NULL. 0 or -ENOMEM.
 */
int tally_add_samples(struct tally *tally, const struct tape *tape, const uint8_t *kinds,
	uint64_t sample_ns, unsigned int parts);
/* The tape's sums of comms that pass; they say nothing of CPUs. 0 or -ENOMEM. */
int tally_add_sums(struct tally *tally, const struct tape *tape, uint64_t sample_ns,
	const struct filter *filter);
/* 0 or -ENOMEM. */
int tally_merge(struct tally *tally, const struct tally *other);
