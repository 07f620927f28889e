/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Where an answer goes: standard output, or a file that gets its name only when it is complete
 * (query/text/hidden-file.h). If the name ends in ".gz" or ".svgz", the output is compressed.
 *
 * A writer appends to output->text and calls output_flush() now and then. After the first error,
 * nothing more is written, and output_commit() returns this error. -EPIPE means that the reader has
 * closed the pipe, which is not an error for the user.
 */

#include <stdbool.h>

#include "base/bytes.h"
#include "base/error.h"
#include "query/text/output-place.h"

struct gzip_writer;

struct output {
	struct buffer text;
	/* the members below are private to output.c */
	int fd;
	/* the first negative errno */
	int failed;
	/* end of the disk space that was allocated in advance; 0: none */
	uint64_t expected_end;
	/* where the file appears; without a path: standard output */
	struct output_place place;
	/* the path of the file's hidden name; NULL: none */
	char *temporary;
	/* output_commit() gives the file its name */
	bool replaces;
	struct gzip_writer *gz;
	/* a person sees the text: nothing hidden may reach the terminal */
	bool is_terminal;
};

/* An output that output_done() may end before it was opened. */
#define OUTPUT_NONE                                               \
	{                                                         \
		.fd = -1, .place = {.folder = -1, .special = -1 } \
	}

/*
 * Opens the output. A path of NULL or "-" is standard output. Only the owner can read a new file. A
 * file of another user is replaced only with `force` (query/text/output-place.h). Returns 0, or a
 * negative errno with a message.
 */
int output_open(struct output *output, const char *path, bool force, struct error *error);
/*
 * Announces about how many bytes will follow. A file may then allocate its disk space at once,
 * which is cheaper than page by page. Never fails: if the disk is full, a later write reports it.
 */
void output_expect(struct output *output, uint64_t bytes);
/* Writes out the text if it is over 256 KB. */
void output_flush(struct output *output);
/*
 * Writes the rest, closes and renames. Returns 0, -EPIPE, or another negative errno with a message.
 * A failure leaves no files behind.
 */
int output_commit(struct output *output, struct error *error);
/* Returns the hidden name, which a process that ends early should remove, or NULL. */
const char *output_temporary(const struct output *output);
/* Discards an output that was not committed. */
void output_done(struct output *output);
