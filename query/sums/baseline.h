/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The usual load of a host: the recording around a window, without the window itself. The user
 * waits for a baseline, so the time to make it is limited. It uses as many segments as the time
 * allows, evenly spread. The shares come from the digest of a whole segment. If a segment has no
 * usable digest, its sums of stacks give the shares of functions and threads. Ten seconds of its
 * samples then give the shares of CPUs. With a filter by name alone, all samples of a segment give
 * all shares; with any other filter, ten seconds of them do.
 *
 * Without other segments nearby, the baseline uses the rest of the window's own segments. A
 * snapshot has neither; it carries a baseline of its own.
 */

#include "base/error.h"
#include "query/read/loader.h"
#include "query/sums/tally.h"
#include "store/read/store-reader.h"

struct baseline_options {
	/* the question about the window; its hook is called from one thread at a time */
	struct question question;
	/* the grouping of the tally that the baseline is compared with */
	enum tally_by by;
	/* how far to look before and after the window */
	uint64_t around_ns;
	/* limit of the time for reading */
	uint64_t limit_ns;
	/* at least 1 */
	unsigned int threads;
};

struct baseline {
	struct tally *tally;
	/* the begin of the earliest part that was read, and the end of the latest part */
	uint64_t from_ns, to_ns;
	/*
	 * how much recorded time the usual shares of names and of CPUs come from; 0: nothing to
	 * compare with, because there was too little time, or no sample passes the filter
	 */
	uint64_t names_ns, cpus_ns;
	/*
	 * the baseline consists of parts of the window's own segments; the members below then count
	 * such parts
	 */
	bool rest;
	/*
	 * the snapshot contains a baseline of all samples by name, which does not fit the filter or
	 * the grouping
	 */
	bool unfiltered;
	/* number of segments that were read */
	uint64_t segments;
	/* number of segments that exist */
	uint64_t of;
	/* number of segments that could not be read */
	uint64_t unread;
};

/* Returns 0 or a negative errno. Free the result with baseline_done(). */
int baseline_make(struct store_reader *reader, const struct baseline_options *options,
		  struct baseline *ret_baseline, struct error *error);
void baseline_done(struct baseline *baseline);
