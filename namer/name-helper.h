/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads files of others in a process of its own, the naming helper (namer/name-server.h). A file
 * that makes the helper hang, crash or take all its memory costs the answer about this file: the
 * helper is killed, and the next question starts another one. The helper starts with the first
 * question. For one thread.
 *
 * Each question returns, besides its own results: -ETIME if the answer took too long; -EPROTO if
 * the helper died or its answer is not one; -EFBIG if the helper lacks memory; -ECHILD if no helper
 * can be started; -ENOMEM if we lack memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "namer/name-wire.h"

struct name_helper;

struct name_helper_patience {
	/* CPU time of the helper for one question. */
	uint64_t cpu_ns;
	/* Time for one question if the helper waits for the disk. */
	uint64_t blocked_ns;
	/* Time for one question if the helper waits for a CPU. */
	uint64_t starved_ns;
};
/* A file takes milliseconds. A large debug file on a slow disk takes a second. */
#define NAME_HELPER_PATIENCE                                      \
	{                                                         \
		NSEC_PER_SEC, 3 * NSEC_PER_SEC, 10 * NSEC_PER_SEC \
	}

/* Returns 0 or -ENOMEM. */
int name_helper_new(const struct name_helper_patience *patience, struct name_helper **ret_helper);
struct name_helper *name_helper_free(struct name_helper *helper);
DEFINE_CLEANUP(name_helper, struct name_helper *, name_helper_free)

/*
 * Ends the process, so that the files which it read have no influence on those that it will read.
 */
void name_helper_rest(struct name_helper *helper);
/* Answers no question after this time (CLOCK_MONOTONIC): it returns -ETIME. 0: no such time. */
void name_helper_until(struct name_helper *helper, uint64_t until_ns);

/* Reads the identity of an ELF file. Returns 0, or -EBADMSG if it is damaged or not ELF. */
int name_helper_identity(struct name_helper *helper, int fd, struct name_identity *ret_identity);
/* Returns whether a file has this CRC-32: 0, or -ENOENT if not. */
int name_helper_has_crc(struct name_helper *helper, int fd, uint32_t crc);
/*
 * Names the open addresses from an ELF file and its debug file (-1: none), as elf_names() and then
 * elf_function_starts() with `file_name`. Returns 0, also without names; -EBADMSG if the file is
 * damaged; or -E2BIG beyond the limit of names.
 */
int name_helper_elf(struct name_helper *helper, int fd, int debug_fd, const char *file_name,
		    struct addresses *addresses);
/* Names the open addresses from a perf map, then from a jitdump (symbolizer/jit.h); -1: none. */
int name_helper_jit(struct name_helper *helper, int map_fd, int dump_fd,
		    struct addresses *addresses);
