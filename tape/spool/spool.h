/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A growing tape as bytes that are only appended: the spool. It consists of blocks, about one per
 * second. Each block has the rows that the tape got since the block before. All blocks together
 * have the whole tape. A block does not refer to later blocks. So after a crash, a reader can
 * decode everything up to the last whole block.
 *
 * A block carries its number, the time that the recording reached, its number of samples, and
 * checksums. Blocks behind a damaged one cannot be decoded, but their headers show how much is
 * lost.
 *
 *   drain thread:  spool_encode()  no compression, no system call
 *   writer thread: spool_pack(), then the bytes are appended to a file
 */

#include "base/bytes.h"
#include "base/error.h"
#include "pack/zstd.h"
#include "tape/tape.h"

/* Counts the rows of a tape that are in blocks already. A zeroed mark: no block exists. */
struct spool_mark {
	uint32_t block;
	uint32_t strings, modules, pids, frames, stacks, threads, samples, losses;
	uint32_t facts, anchors, fields, events, lines, incidents;
	/* A hash of the pids in blocks, which shows whether one of them changed. */
	uint64_t pids_hash;
	/* Indexed by gauge. */
	array_of(uint32_t) points;
};
void spool_mark_done(struct spool_mark *mark);

/* The content of a block before it is packed, and the values for its header. */
struct spool_block {
	struct buffer raw;
	uint32_t number;
	uint64_t sequence;
	/* The begin of the tape. */
	uint64_t begin_ns;
	/* The block completes everything before this time. */
	uint64_t until_ns;
	/* The number of samples in this block. */
	uint32_t samples;
	char boot_id[40];
};
void spool_block_done(struct spool_block *block);

/*
 * Encodes the rows that the tape got since the mark, and advances the mark. Frames do not have
 * names here, and modules have the identity of their mapping.
 *
 * While a tape grows, rows are only appended, with two exceptions. `pids` of modules may change;
 * the last one counts. The points of a gauge may move, if they only grow at their end.
 *
 * `ret_block` is zeroed, or an earlier block whose memory is used again. Returns 0, -EFBIG beyond
 * 256 MB at once, or -ENOMEM. On failure the mark stays.
 */
int spool_encode(const struct tape *tape, struct spool_mark *mark, uint64_t until_ns,
		 struct spool_block *ret_block);

/*
 * The recorder packs one block per second and must cost next to nothing. This level gives a sixth
 * more bytes than level 1, in half the time.
 */
#define SPOOL_PACK_LEVEL -1
/*
 * Appends the bytes of the block in the file. The packer has SPOOL_PACK_LEVEL; NULL uses a
 * temporary one. Returns 0 or -ENOMEM.
 */
int spool_pack(const struct spool_block *block, struct zstd_packer *packer, struct buffer *bytes);

/* The contents of a spool's headers. */
struct spool_summary {
	uint64_t sequence;
	/* On the perf clock. */
	uint64_t begin_ns;
	/* The latest time that a whole block reaches. */
	uint64_t until_ns;
	/* The number of samples in all whole blocks. */
	uint64_t samples;
	char boot_id[40];
};

/*
 * Reads only headers, so it touches few pages of a mapped file. Works also with damaged blocks,
 * even with a damaged first block. Returns 0, -EBADMSG if no whole block has a sound header, or
 * -EPROTONOSUPPORT if a newer version wrote the spool.
 */
int spool_peek(const void *data, size_t size, struct spool_summary *ret_summary,
	       struct error *error);

/* The result of reading a spool. */
struct spool_end {
	/* The bytes before the first block that is not sound and whole. */
	uint64_t good_bytes;
	/* The bytes up to the last header that tells the time of the recording. */
	uint64_t timed_bytes;
	/*
	 * The rest may be a block that was being written: the file ends within it, or its last
	 * sectors are zeros.
	 */
	bool torn;
	/*
	 * The rest cannot be such a block: bytes were changed or cut out. The tape's last loss says
	 * how much is lost at least.
	 */
	bool damaged;
};

/*
 * Decodes a spool into a tape with `unsealed` set. Its end_ns is the time that the recording
 * reached, and its samples are sorted. The tape keeps the invariants of tape.h, whatever the bytes
 * are.
 *
 * The first damaged block and everything behind it become a loss of kind DAMAGED. The sound headers
 * in that part of the file give the end of the loss and its number of samples. The loss counts at
 * least one sample, because a block without a sound header is lost, too.
 *
 * Returns 0; -EBADMSG if the first block is not sound; -EPROTONOSUPPORT if a newer version wrote
 * the spool; or -ENOMEM.
 */
int spool_decode(const void *data, size_t size, struct tape **ret_tape, struct spool_end *ret_end,
		 struct error *error);
