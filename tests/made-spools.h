/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Makes tapes in blocks, as a recorder passes them to the store. All functions CHECK. */

#include <fcntl.h>
#include <sys/stat.h>

#include "store/disk/files.h"
#include "store/write/writer.h"
#include "tape/clocks.h"
#include "tape/spool/spool.h"
#include "tests/tapes.h"

/* A tape of this boot that is filled one second at a time. */
struct spooling {
	struct tape *tape;
	struct spool_mark mark;
	struct spool_block block;
};

/* Covers whole seconds from `begin` on, as tapes_new() does. */
static inline void spooling_init(struct spooling *spooling, uint64_t sequence, unsigned int begin)
{
	*spooling = (struct spooling){ .tape = tapes_new(begin, begin) };
	spooling->tape->facts.count = 0;
	CHECK_EQ(tape_add_fact(spooling->tape, "host", "example"), 0);
	spooling->tape->sequence = sequence;
}

static inline void spooling_done(struct spooling *spooling)
{
	tape_free(spooling->tape);
	spool_mark_done(&spooling->mark);
	spool_block_done(&spooling->block);
}

/* Adds a second with four samples, as a block. */
static inline void spooling_second(struct spooling *spooling, struct buffer *bytes)
{
	struct tape *tape = spooling->tape;
	uint32_t thread = tapes_thread(tape, 1, 1, "x"), stack = tapes_kernel(tape, "a;b;c");

	for (int i = 0; i < 4; i++)
		tapes_sample(tape, tape->end_ns + i * NSEC_PER_SEC / 4, 0, thread, stack);
	tape->end_ns += NSEC_PER_SEC;
	CHECK_EQ(spool_encode(tape, &spooling->mark, tape->end_ns, &spooling->block), 0);
	CHECK_EQ(spool_pack(&spooling->block, NULL, bytes), 0);
}

/* Sets the file's time to that of its contents, as if a recorder had just written it. */
static inline void spooling_set_time(const struct spooling *spooling,
				     const struct store_writer *writer)
{
	uint64_t until_ns = tape_to_realtime(spooling->tape, spooling->tape->end_ns, NULL);
	struct timespec at = { until_ns / NSEC_PER_SEC, until_ns % NSEC_PER_SEC };
	char name[64], path[PATH_MAX];

	CHECK_EQ(store_name(writer->boot_id, spooling->tape->sequence, STORE_SPOOL_SUFFIX, name),
		 0);
	CHECK(snprintf(path, sizeof(path), "%s/%s", writer->spools, name) < (int)sizeof(path));
	/* a block that came too late lacks a file */
	CHECK(utimensat(AT_FDCWD, path, (struct timespec[]){ at, at }, 0) == 0 || errno == ENOENT);
}

/* Adds a second and spools it. Returns what the store returned. */
static inline int spooling_put(struct spooling *spooling, struct store_writer *writer)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	int r;

	spooling_second(spooling, &bytes);
	r = store_writer_spool(writer, spooling->tape->sequence, bytes.data, bytes.size, NULL);
	if (r == 0)
		spooling_set_time(spooling, writer);
	return r;
}
