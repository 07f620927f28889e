/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A log that somebody gave: a file, packed or not, or standard input. The year of a log can only be
 * told from its end, so that what comes through a pipe is kept until there is no more of it; or,
 * where it is to be read as it comes, until nothing came for a second.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct log_input {
	/* as people know it; borrowed */
	const char *name;
	/* a file with what is kept */
	int fd;
	/* of it */
	uint64_t size;
	/* from which more comes; -1: none */
	int pipe;
	/* no line is later than that, but for those of the pipe */
	uint64_t changed_ns;
	/* it is packed, and its end is missing */
	bool damaged;
};

/* "-" is standard input. 0; a negative errno with a text, also of what is packed in a way that
 * nobody can read here. */
int log_input_open(const char *path, bool as_it_comes, struct log_input *ret_input,
		   struct error *error);
void log_input_done(struct log_input *input);

/* Of the kept file. As read() has it, but for what a signal interrupts. */
ssize_t log_input_read_at(const struct log_input *input, char *data, size_t size, uint64_t offset);
/* What comes through the pipe next; *ret_idle when nothing did for a while, and then 0. 0 is the
 * end, else. */
ssize_t log_input_read_pipe(const struct log_input *input, char *data, size_t size, bool *ret_idle);
