/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A log to read: a file, packed or not, or standard input. Only the end of a log tells its year, so
 * log_input_open() first copies a pipe to a file. The copy ends at the end of the pipe or, with
 * `as_it_comes`, when nothing has arrived for a second.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct log_input {
	/* For messages; borrowed. */
	const char *name;
	/* The file, or the copy of the pipe. */
	int fd;
	/* Number of bytes in the file. */
	uint64_t size;
	/* The pipe from which more lines come; -1: none. */
	int pipe;
	/*
	 * Each line of the file is at most this late. Lines that come through the pipe may be
	 * later.
	 */
	uint64_t changed_ns;
	/* The packed log is truncated. */
	bool damaged;
};

/*
 * Opens a log; "-" is standard input. Returns 0, or a negative errno with a text, also for formats
 * that perftape cannot read.
 */
int log_input_open(const char *path, bool as_it_comes, struct log_input *ret_input,
		   struct error *error);
void log_input_done(struct log_input *input);

/*
 * Reads from the file, as pread() does, and tries again after a signal. Returns bytes or a negative
 * errno.
 */
ssize_t log_input_read_at(const struct log_input *input, char *data, size_t size, uint64_t offset);
/*
 * Reads the next bytes of the pipe. Returns the number of bytes, 0 at the end, or a negative errno.
 * Sets *ret_idle and returns 0 if nothing arrived for a while.
 */
ssize_t log_input_read_pipe(const struct log_input *input, char *data, size_t size, bool *ret_idle);
