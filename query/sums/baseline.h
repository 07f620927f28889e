/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What is usual on a host: what was recorded around a window, but not in it. It is there to be held
 * beside the window at once, so its time is bounded: of many segments those are read that the time
 * is enough for, evenly spread however many that are. Functions and threads come from a segment's
 * sums, that is of all of it; CPUs from ten seconds of it.
 *
 * Where no other segment is near, it is the rest of the window's own.
 */

#include "base/error.h"
#include "query/read/loader.h"
#include "query/sums/tally.h"
#include "store/read/store-reader.h"

struct baseline_options {
	/* what is asked about the window; its hook is called from one thread at a time */
	struct question question;
	/* how far before and behind the window */
	uint64_t around_ns;
	/* how long reading may take */
	uint64_t limit_ns;
	/* at least 1 */
	unsigned int threads;
};

struct baseline {
	struct tally *tally;
	/* the first and the last of what was read */
	uint64_t from_ns, to_ns;
	uint64_t names_ns,
		/* how much time the names, and the CPUs, are of; 0: there is nothing to compare
		   with */
		cpus_ns;
	/* of the window's own segments, of which the numbers below are parts then */
	bool rest;
	/* that were read */
	uint64_t segments;
	/* that there are */
	uint64_t of;
	/* that could not be read */
	uint64_t unread;
};

int baseline_make(struct store_reader *reader, const struct baseline_options *options,
		  struct baseline *ret_baseline, struct error *error);
void baseline_done(struct baseline *baseline);
