/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A tape that is still being filled, as bytes that only grow: the spool. It is a row of blocks, one
 * a second or so, each with what came into the tape since the one before: rows of every table,
 * appended. Whoever reads all blocks has the tape. Nothing in a block refers to a later one, so
 * after a crash all up to the last whole block is there.
 *
 * A block carries its number, how far the recording reached when it was made, how many samples it
 * adds, and checksums: what stands behind a damaged block cannot be decoded, but it can be told how
 * much it was.
 *
 *   drain thread: spool_encode() (no compression, no system call)  ->  writer thread: spool_pack(),
 * then it is appended to a file
 */

#include "base/bytes.h"
#include "base/error.h"
#include "pack/zstd.h"
#include "tape/tape.h"

/* How much of a tape is in blocks already. Zeroed is nothing. */
struct spool_mark {
	uint32_t block;
	uint32_t strings, modules, pids, frames, stacks, threads, samples, losses;
	uint32_t facts, anchors, fields, events, lines, incidents;
	/* tells whether one of them changed */
	uint64_t pids_hash;
	/* of each gauge */
	array_of(uint32_t) points;
};
void spool_mark_done(struct spool_mark *mark);

/* One block's contents before it is packed, and what its header will say. */
struct spool_block {
	struct buffer raw;
	uint32_t number;
	uint64_t sequence;
	/* the tape's */
	uint64_t begin_ns;
	/* all that happened before it is in */
	uint64_t until_ns;
	/* in this block */
	uint32_t samples;
	char boot_id[40];
};
void spool_block_done(struct spool_block *block);

/*
 * What came into the tape since the mark, which moves on. Frames have no names here and modules
 * what they were mapped with. In a tape that is filled, rows are only appended; but of modules
 * `pids` may change (the last one counts), and a gauge's run of points may move, as long as it only
 * grows at its end. ret_block is zeroed, or one of before: its memory is used again. 0; -EFBIG
 * beyond 256 MB at once; -ENOMEM. On failure the mark stays.
 */
int spool_encode(const struct tape *tape, struct spool_mark *mark, uint64_t until_ns,
		 struct spool_block *ret_block);

/* One a second is packed, by a recorder that is to cost next to nothing: a sixth larger than at
 * level 1, in half the time. */
#define SPOOL_PACK_LEVEL -1
/* Appends the block as it stands in the file. The packer is one of that level; NULL: one is made
 * and thrown away. 0 or -ENOMEM. */
int spool_pack(const struct spool_block *block, struct zstd_packer *packer, struct buffer *bytes);

/* What the headers of a spool say, without what is in its blocks being looked at. */
struct spool_summary {
	uint64_t sequence;
	/* of the perf clock */
	uint64_t begin_ns;
	/* the latest that a whole block reaches */
	uint64_t until_ns;
	/* of all whole blocks */
	uint64_t samples;
	char boot_id[40];
};

/*
 * Reads headers only: of a mapped file few pages. Also of a spool with damaged blocks, even where
 * the first one is. 0; -EBADMSG when there is no sound header of a whole block in it;
 * -EPROTONOSUPPORT when a newer version wrote it.
 */
int spool_peek(const void *data, size_t size, struct spool_summary *ret_summary,
	       struct error *error);

/* What came of reading a spool. */
struct spool_end {
	/* up to the first one that is no whole sound block */
	uint64_t good_bytes;
	/* up to where a header tells how far the recording had come */
	uint64_t told_bytes;
	/* what follows can be a block that was being written: the file ends within it, or its last
	 * sectors are zeros */
	bool torn;
	/* what follows cannot: bytes were changed or cut out; the tape's last loss says how much,
	 * at least */
	bool damaged;
};

/*
 * The tape that a spool holds, `unsealed`, with end_ns as far as it was recorded; its samples are
 * sorted. The first damaged block and whatever stands behind it is a loss of kind DAMAGED: up to
 * the latest moment, and with all the samples, that sound headers from there on speak of, of one at
 * least: also where no header is left to say so it is known that there was something. 0; -EBADMSG
 * when not even the first block is sound; -EPROTONOSUPPORT when a newer version wrote it; -ENOMEM.
 * What comes back keeps the invariants of tape.h, whatever the bytes were.
 */
int spool_decode(const void *data, size_t size, struct tape **ret_tape, struct spool_end *ret_end,
		 struct error *error);
