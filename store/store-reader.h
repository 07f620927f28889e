/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The side of the store that reads: any number at a time, beside the writer, without its help. */

#include "base/error.h"
#include "tape/tape.h"

struct store_reader;

/* What is known of one segment before it is loaded. Times are of the wall clock. */
struct store_segment {
	char name[64]; /* in segments/ */
	char boot_id[40];
	uint64_t sequence;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t samples;
	uint64_t lost; /* samples that the kernel reported as lost */
	uint64_t bytes;
	/* "" or why its header cannot be read; its times may then be those that its neighbours leave free */
	char damage[160];
};

struct store_segments {
	array_of(struct store_segment) list;
};

/* -ENOENT when there is no store; the text says how to make one. An index that cannot be read is no obstacle. */
int store_reader_open(const char *path, struct store_reader **ret_reader, struct error *error);
struct store_reader *store_reader_close(struct store_reader *reader);
DEFINE_CLEANUP(store_reader, struct store_reader *, store_reader_close)

const char *store_reader_path(const struct store_reader *reader);

/*
 * Appends the segments that overlap [from, to), by their begin; those that cannot be read too. from 0 and to UINT64_MAX are all.
 * What the index says is held against the segments' own first bytes, and what it does not know is found all the same.
 */
int store_reader_find(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
	struct store_segments *segments, struct error *error);

/*
 * The nearest recorded moments outside a window in which nothing was: the end of the last segment before `from` and the
 * begin of the first one after `to`, 0 where there is none.
 */
int store_reader_near(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
	uint64_t *ret_before_ns, uint64_t *ret_after_ns, struct error *error);

/*
 * Decodes one segment. -EBADMSG when it is damaged (the text says where), -ENOENT when retention took it meanwhile, -ENOMEM;
 * another errno when this file cannot be read.
 */
int store_reader_load(struct store_reader *reader, const struct store_segment *segment,
	struct tape **ret_tape, struct error *error);

/* The pid of who records into it at this moment; 0: nobody, or not to be told with our rights. */
int store_reader_recorder(const struct store_reader *reader);
