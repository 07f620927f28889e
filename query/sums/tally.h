/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * CPU time added up by CPU, by function and by group, over any number of tapes. Idle time counts
 * only for the CPUs.
 *
 * Groups are threads of one name, unless `by` says otherwise. A tally distinguishes threads by
 * name, because a comparison of two times would find other processes in each. "kworker/3:1" and
 * "kworker/u8:2" are one group, shown as kworker/ and a star. query/sums/tally-tape adds a tape.
 *
 * A tape is a part of a segment. For `places`, `spots` and `led_ns`, each tape adds only the time
 * of what was heaviest within this tape. A long window may therefore miss time that was second in
 * some tapes. All other times are exact.
 */

#include "base/intern.h"
#include "query/sums/hash96.h"
#include "tape/stack-class.h"

/* The rule by which threads, or stacks, form the groups of a tally. */
enum tally_by {
	/* threads of one name */
	TALLY_BY_NAME,
	/* the same groups; the user asks for functions */
	TALLY_BY_FUNCTION,
	/* each thread, as "NAME PID/TID" */
	TALLY_BY_THREAD,
	/* the path of the cgroup */
	TALLY_BY_CGROUP,
	/* the pod, or the container without a pod */
	TALLY_BY_POD,
	/* the functions of the stack from the outermost caller to the leaf, with ';' between them
	 */
	TALLY_BY_PATH,
};

/*
 * Returns whether the sums that a segment stores suffice. Such sums distinguish threads only by
 * name.
 */
static inline bool tally_by_has_sums(enum tally_by by)
{
	return by == TALLY_BY_NAME || by == TALLY_BY_FUNCTION;
}

struct tally_function {
	uint64_t self_ns, total_ns;
	/*
	 * for each tape, the time in the function that this one called most within that tape; the
	 * sum over the tapes
	 */
	uint64_t led_ns;
	bool kernel;
};

/* The CPU on which a thread took most time within one tape, and that time. */
struct tally_place {
	uint32_t cpu;
	uint64_t ns;
};

/* CPU time. Up to three numbers identify a row. */
struct tally_row {
	uint32_t a, b, c;
	uint64_t ns;
};

struct tally_rows {
	array_of(struct tally_row) list;
	/* index of the row + 1 */
	struct hash96 known;
};

struct tally {
	/* set it before the first tape */
	enum tally_by by;
	/* "[libc.so.6]" stands for the unnamed functions of that module */
	struct strings names;
	/* indexed by name */
	array_of(struct tally_function) functions;
	/* indexed by name */
	array_of(struct stack_class) groups;
	/* indexed by CPU number */
	array_of(struct stack_class) cpus;
	/* sum of the times of all names */
	struct stack_class all;
	uint64_t samples;
	/* time that a sample stands for; the largest of all tapes */
	uint64_t sample_ns;
	/* number of the host's CPUs; 0: not known */
	uint64_t host_cpus;
	/* time by pid, tid, group */
	struct tally_rows threads;
	/* indexed as `threads` */
	array_of(struct tally_place) places;
	/* time by CPU, group */
	struct tally_rows shares;
	/*
	 * time by CPU, group, function on top of the stack; in each tape only the function that had
	 * most
	 */
	struct tally_rows spots;
	/*
	 * private: indexed by name, the name that tally_name_after() last found after it; 0: none
	 */
	array_of(uint32_t) followers;
	/* private to tally-tape; NULL before the first tape */
	struct tally_scratch *scratch;
};

int tally_new(struct tally **ret_tally);
struct tally *tally_free(struct tally *tally);
DEFINE_CLEANUP(tally, struct tally *, tally_free)

/* Adds another tally, matched by names. Returns 0, or -ENOMEM with a part of it added. */
int tally_merge(struct tally *tally, const struct tally *other);

/* The functions below are for tally-tape. Each returns 0 or -ENOMEM. */
/* Finds or adds a name. A new name gets a row in `functions` and `groups`. */
int tally_name(struct tally *tally, const char *name, size_t size, uint32_t *ret_name);
/*
 * The same for the name that follows the name `before` in a list, which is 0 at the begin. The
 * lists of two tapes resemble each other, so the name that followed last time is compared first.
 * That takes a fifth of the time of a look-up.
 */
int tally_name_after(struct tally *tally, uint32_t before, const char *name, uint32_t *ret_name);
/* Makes sure that a row for the CPU exists. */
int tally_cpu(struct tally *tally, uint32_t cpu);
/* Adds to the row with these numbers, or appends such a row. ret_number may be NULL. */
int tally_rows_add(struct tally_rows *rows, const struct tally_row *row, uint32_t *ret_number);
/*
 * The same for a row that probably has the number *number. Sets *number to the number of the row.
 */
int tally_rows_add_at(struct tally_rows *rows, const struct tally_row *row, uint32_t *number);
/* Prefetches what tally_rows_add() will look up soon. */
void tally_rows_prefetch(const struct tally_rows *rows, const struct tally_row *row);
/* Adds to the time of a thread. `place` is its place in one tape. */
int tally_add_thread(struct tally *tally, const struct tally_row *thread,
		     const struct tally_place *place);
