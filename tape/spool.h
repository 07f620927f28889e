/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A tape that is still being filled, as bytes that only grow: the spool. It is a row of blocks, one a second or so, each with what came
 * into the tape since the one before: rows of every table, appended. Whoever reads all blocks has the tape. Nothing in a block refers to a
 * later one, so after a crash all up to the last whole block is there.
 *
 * A block carries its number, how far the recording reached when it was made, how many samples it adds, and checksums: what stands behind
 * a damaged block cannot be decoded, but it can be told how much it was.
 *
 *   drain thread: spool_encode() (no compression, no system call)  ->  writer thread: spool_pack(), then it is appended to a file
 */

#include "base/bytes.h"
#include "base/error.h"
#include "tape/tape.h"

/* How much of a tape is in blocks already. Zeroed is nothing. */
struct spool_mark {
	uint32_t block;
	uint32_t strings, modules, frames, stacks, threads, samples, losses;
	uint32_t facts, anchors, fields, events, lines, incidents, gauges, points;
};

/* One block's contents before it is packed, and what its header will say. */
struct spool_block {
	struct buffer raw;
	uint32_t number;
	uint64_t sequence;
	uint64_t begin_ns; /* the tape's */
	uint64_t until_ns; /* all that happened before it is in */
	uint32_t samples; /* in this block */
	char boot_id[40];
};
void spool_block_done(struct spool_block *block);

/*
 * What came into the tape since the mark, which moves on. Frames have no names here and modules what they were mapped with. In a tape that
 * is filled, rows are only appended (of modules, `pids` may change: the last one counts). 0 or -ENOMEM: then the mark stays.
 */
int spool_encode(const struct tape *tape, struct spool_mark *mark, uint64_t until_ns,
	struct spool_block *ret_block);

/* Appends the block as it stands in the file. 0 or -ENOMEM. */
int spool_pack(const struct spool_block *block, struct buffer *bytes);

/* What the first bytes of a spool say; also of one whose other blocks are damaged. */
struct spool_summary {
	uint64_t sequence;
	uint64_t begin_ns;
	char boot_id[40];
};

/* What came of reading a spool. */
struct spool_end {
	uint64_t good_bytes; /* up to the first one that is no whole sound block */
	bool torn; /* what follows can be a block that was being written: the file ends within it */
	bool damaged; /* what follows cannot: bytes were changed or cut out; the tape has a loss that says how much */
};

/*
 * The tape that a spool holds, `unsealed`, with end_ns as far as it was recorded; its samples are sorted. Whatever stands behind the first
 * damaged block is a loss of kind DAMAGED: up to the latest moment, and with all the samples, that sound headers behind it speak of. 0;
 * -EBADMSG when not even the first block is sound; -EPROTONOSUPPORT when a newer version wrote it; -ENOMEM. What comes back keeps the
 * invariants of tape.h, whatever the bytes were.
 */
int spool_decode(const void *data, size_t size, struct tape **ret_tape, struct spool_end *ret_end,
	struct error *error);
