/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Selects samples by CPU, process, thread, name and cgroup. A zeroed filter passes all samples. */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "query/window/cpu-filter.h"
#include "tape/tape.h"

struct filter_ids {
	/* an empty list passes all */
	array_of(int32_t) list;
};

enum filter_frames {
	FILTER_FRAMES_ALL,
	FILTER_FRAMES_KERNEL,
	/* all frames outside the kernel */
	FILTER_FRAMES_USER,
};

struct filter {
	struct cpu_set_filter cpus;
	struct filter_ids pids, tids;
	/*
	 * Patterns (query/window/glob.h) for the whole name as it is shown. NULL matches all names.
	 * The caller keeps the strings alive.
	 */
	const char *comm;
	const char *cgroup;
	/* drop samples of idle CPUs; interrupts on an idle CPU count as work */
	bool no_idle;
	/* the frames to keep in the stacks */
	enum filter_frames frames;
};

void filter_done(struct filter *filter);

/*
 * Parses "1240" or "1240,1262" and replaces the list. Returns 0, -ENOMEM, or -EINVAL with a
 * message.
 */
int filter_parse_ids(const char *text, struct filter_ids *ret_ids, struct error *error);

bool filter_has_threads(const struct filter *filter);
/* Returns true if the filter passes all samples with all their frames. */
bool filter_passes_all(const struct filter *filter);
/* Returns true if the filter depends only on the name of a sample's thread. */
bool filter_is_by_comm(const struct filter *filter);
bool filter_passes_comm(const struct filter *filter, const char *comm);
/*
 * Returns true if a thread without a name may pass. Threads without names differ only by their
 * numbers, which the sums of a segment do not contain.
 */
bool filter_may_pass_unnamed(const struct filter *filter);

/*
 * Returns a thread's name as all answers show it. For a thread without a name, writes ":TID" into
 * the caller's `number`.
 */
#define FILTER_COMM_SIZE 16
const char *filter_shown_comm(const struct tape *tape, const struct tape_thread *thread,
			      char number[FILTER_COMM_SIZE]);

/*
 * Decides for each thread of the tape whether it passes; the array is indexed by thread number. The
 * caller frees it. Returns 0 or -ENOMEM.
 */
int filter_threads(const struct filter *filter, const struct tape *tape, bool **ret_passes);

/*
 * Appends a text such as "comm kube*, pid 1240,1262", without the CPUs. Appends nothing if all
 * threads pass.
 */
void filter_describe_threads(const struct filter *filter, struct buffer *text);
