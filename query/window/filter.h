/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which samples a person asked for: of which CPUs, processes, threads, names, cgroups. A zeroed one
 * passes all. */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "query/window/cpu-filter.h"
#include "tape/tape.h"

struct filter_ids {
	/* none: all */
	array_of(int32_t) list;
};

enum filter_frames {
	FILTER_FRAMES_ALL,
	FILTER_FRAMES_KERNEL,
	/* all others */
	FILTER_FRAMES_USER,
};

struct filter {
	struct cpu_set_filter cpus;
	struct filter_ids pids, tids;
	/* Patterns (query/window/glob.h) for the whole name, as it is shown. NULL: all. Borrowed.
	 */
	const char *comm;
	const char *cgroup;
	/* without samples of idle CPUs; interrupts on them are work */
	bool no_idle;
	/* that are left of the stacks */
	enum filter_frames frames;
};

void filter_done(struct filter *filter);

/* "1240" or "1240,1262". -EINVAL with a text. */
int filter_parse_ids(const char *text, struct filter_ids *ret_ids, struct error *error);

bool filter_has_threads(const struct filter *filter);
/* Does it look at no more of a sample than the name of its thread? */
bool filter_is_by_comm(const struct filter *filter);
bool filter_passes_comm(const struct filter *filter, const char *comm);
/* May one pass that has no name? Such threads are told apart by their numbers, which sums do not
 * have. */
bool filter_may_pass_nameless(const struct filter *filter);

/* A thread's name as all answers show it: ":TID" where it has none, which is then in the caller's
 * `number`. */
#define FILTER_COMM_SIZE 16
const char *filter_shown_comm(const struct tape *tape, const struct tape_thread *thread,
			      char number[FILTER_COMM_SIZE]);

/* Which of the tape's threads pass, by their number; the caller frees it. 0 or -ENOMEM. */
int filter_threads(const struct filter *filter, const struct tape *tape, bool **ret_passes);

/* "comm kube*, pid 1240,1262" without the CPUs; nothing where all threads pass. */
void filter_describe_threads(const struct filter *filter, struct buffer *text);
