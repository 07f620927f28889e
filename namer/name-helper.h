/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads files of others in a separate process, the naming helper (namer/name-server.h). If a file
 * makes the helper hang, crash or use up its memory, only the answer about this file is lost. The
 * parent kills the helper, and the next question starts another one. The first question starts the
 * first helper. Only one thread may use a struct name_helper.
 *
 * Each question returns, besides its own results: -ETIME if the answer took too long; -EPROTO if
 * the helper died or its answer is invalid; -EFBIG if the helper lacks memory; -ECHILD if a helper
 * cannot start; -ENOMEM if we lack memory.
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
/*
 * A question about a file usually takes milliseconds; about a large debug file on a slow disk, a
 * second.
 */
#define NAME_HELPER_PATIENCE                                      \
	{                                                         \
		NSEC_PER_SEC, 3 * NSEC_PER_SEC, 10 * NSEC_PER_SEC \
	}

/* Returns 0 or -ENOMEM. */
int name_helper_new(const struct name_helper_patience *patience, struct name_helper **ret_helper);
struct name_helper *name_helper_free(struct name_helper *helper);
DEFINE_CLEANUP(name_helper, struct name_helper *, name_helper_free)

/* Ends the helper, so that files of earlier questions cannot influence later answers. */
void name_helper_rest(struct name_helper *helper);
/* Returns the CPU time that the helper and its predecessors have used. It never decreases. */
uint64_t name_helper_spent_ns(struct name_helper *helper);
/* Makes questions return -ETIME after this time (CLOCK_MONOTONIC). 0: no limit. */
void name_helper_until(struct name_helper *helper, uint64_t until_ns);

/*
 * Calls waits() each tenth of a second while a question waits for its answer. waits() may take a
 * while: an answer that comes meanwhile is not late.
 */
void name_helper_observe(struct name_helper *helper, void (*waits)(void *context), void *context);
/*
 * Calls the function of name_helper_observe(), for code that waits for something else meanwhile.
 * Does nothing if `helper` is NULL.
 */
void name_helper_waits(const struct name_helper *helper);

/* Reads the identity of an ELF file. Returns 0, or -EBADMSG if it is damaged or not ELF. */
int name_helper_identity(struct name_helper *helper, int fd, struct name_identity *ret_identity);
/* Returns 0 if the file has this CRC-32, and -ENOENT if it does not. */
int name_helper_has_crc(struct name_helper *helper, int fd, uint32_t crc);
/*
 * Names the open addresses from an ELF file and its debug file (-1: none), like elf_names() and
 * then elf_function_starts() with `file_name`. Returns 0 even if it finds no name; -EBADMSG if the
 * file is damaged; or -E2BIG beyond the limits of addresses or of names.
 */
int name_helper_elf(struct name_helper *helper, int fd, int debug_fd, const char *file_name,
		    struct addresses *addresses);
/*
 * Names the open addresses from a perf map, then from a jitdump (symbolizer/jit.h). -1: no such
 * file.
 */
int name_helper_jit(struct name_helper *helper, int map_fd, int dump_fd,
		    struct addresses *addresses);
