/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Names that were found, kept in a folder by the identity of their file: what a recorder found out,
 * the next one need not. All of it can be found again: a file that is damaged, or is another one's,
 * is as good as none, and what is beyond the bound goes, the one that was not used for the longest
 * time first.
 *
 * A file begins with "PERFNAME", the u32 1, the key and the u32 CRC-32C of these; then come blocks,
 * each a u32 size, the u32 CRC-32C of so many bytes, and these: rows of a u64 address, the u64
 * start of its function, and its name, which a NUL ends. Numbers are little-endian.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "symbolizer/addresses.h"
#include "tape/tape.h"

struct name_cache;

/* Makes the folder where it is missing. 0 or a negative errno. */
int name_cache_open(const char *dir, uint64_t max_bytes, struct name_cache **ret_cache);
struct name_cache *name_cache_close(struct name_cache *cache);
DEFINE_CLEANUP(name_cache, struct name_cache *, name_cache_close)

#define NAME_KEY_SIZE 64
/* What names depend on: the file, by its build-id or else by all that shows a change of it, and
 * whether there was a debug file to it. */
struct name_key {
	uint8_t bytes[NAME_KEY_SIZE];
};
void name_key_make(const struct tape_module *module, const struct stat *about, bool debug,
		   struct name_key *ret_key);

/* Names what is open and was kept. 0 or -ENOMEM. */
int name_cache_load(struct name_cache *cache, const struct name_key *key,
		    struct addresses *addresses);
/* Keeps what has a name and is not kept yet. A failure costs nothing but time. */
void name_cache_save(struct name_cache *cache, const struct name_key *key,
		     struct addresses *addresses);
