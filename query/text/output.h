/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Where an answer goes: standard output, or a file that appears under its name only when it is
 * whole (a hidden temporary beside it, renamed). A name ending in ".gz" or ".svgz" is gzipped.
 *
 * A writer puts its text into output->text and calls output_flush() now and then; errors stick and
 * come out of output_commit(). A reader that went away (EPIPE) is -EPIPE, which is no failure to
 * the person.
 */

#include "base/bytes.h"
#include "base/error.h"

struct gzip_writer;

struct output {
	struct buffer text;
	/* the rest is output.c's */
	int fd;
	/* the first negative errno */
	int failed;
	/* up to where a file has its place on the disk; 0: not asked for */
	uint64_t expected_end;
	char *path;
	char *temporary;
	struct gzip_writer *gz;
};

/* path NULL or "-" is standard output. */
int output_open(struct output *output, const char *path, struct error *error);
/*
 * That about so many bytes are to come: a file may take their place on the disk at once, which is
 * cheaper than page by page as they are written. Never an error: writing them will tell.
 */
void output_expect(struct output *output, uint64_t bytes);
/* Writes out what is in text when it is over 256 KB. */
void output_flush(struct output *output);
/* Writes all, closes, renames. 0, -EPIPE, or another errno with a text; nothing is left behind on
 * failure. */
int output_commit(struct output *output, struct error *error);
/* Drops what was not committed. */
void output_done(struct output *output);
