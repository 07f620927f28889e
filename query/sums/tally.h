/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * CPU time added up by CPU, by function and by the name of the thread, over any number of tapes.
 * Idle is not work: it is counted with the CPUs and nowhere else.
 *
 * Threads are told apart by name, so that a time can be held against another one in which other
 * processes ran: "kworker/3:1" and "kworker/u8:2" are one group, shown as kworker/ and a star. What
 * a tape adds is query/sums/tally-tape's.
 */

#include "base/intern.h"
#include "query/sums/hash96.h"
#include "tape/stack-class.h"

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
	/* rows, each plus 1 */
	struct hash96 known;
};

struct tally {
	/* "[libc.so.6]" is a function of it that has no name */
	struct strings names;
	/* by name */
	array_of(struct tally_function) functions;
	/* by name */
	array_of(struct stack_class) groups;
	/* by number */
	array_of(struct stack_class) cpus;
	/* of the names */
	struct stack_class all;
	uint64_t samples;
	/* that a sample stands for; the most of all tapes */
	uint64_t sample_ns;
	/* that were recorded; 0: not known */
	uint64_t host_cpus;
	/* pid, tid, group */
	struct tally_rows threads;
	/* CPU, thread (a row of those) */
	struct tally_rows places;
	/* CPU, group, function on top of the stack */
	struct tally_rows spots;
	/* caller, callee */
	struct tally_rows calls;
	/* tally-tape's; NULL: nothing was added yet */
	struct tally_scratch *scratch;
};

int tally_new(struct tally **ret_tally);
struct tally *tally_free(struct tally *tally);
DEFINE_CLEANUP(tally, struct tally *, tally_free)

/* All of another one, by its names. 0, or -ENOMEM with some of it added. */
int tally_merge(struct tally *tally, const struct tally *other);

/* For who adds. Each 0 or -ENOMEM. */
/* A name's number, which functions and groups have a row of. */
int tally_name(struct tally *tally, const char *name, size_t size, uint32_t *ret_name);
/* Makes sure that there is a row of a CPU. */
int tally_cpu(struct tally *tally, uint32_t cpu);
/* Adds to the row of these numbers, made where there was none; ret_number may be NULL. */
int tally_rows_add(struct tally_rows *rows, const struct tally_row *row, uint32_t *ret_number);
bool tally_rows_have(const struct tally_rows *rows, const struct tally_row *row);
