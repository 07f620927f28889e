/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Caches found names in a folder, by the identity of the file that has them, so that the next
 * recorder need not search for them. A cache file that is damaged, or has another version or key,
 * counts as empty, because the namer can find all names again. If the folder exceeds its size
 * limit, the cache deletes the least recently used files.
 *
 * A file begins with "PERFNAME", the u32 2, the key, and the u32 CRC-32C of these. Blocks follow: a
 * u32 size, the u32 CRC-32C of the rows, and the rows of that size. A row is a u64 address, the u64
 * start of the function at the address, and the function's name with a NUL. Numbers are
 * little-endian.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "symbolizer/addresses.h"
#include "tape/tape.h"

struct name_cache;

/* Opens the cache, and creates its folder if necessary. Returns 0 or a negative errno. */
int name_cache_open(const char *dir, uint64_t max_bytes, struct name_cache **ret_cache);
struct name_cache *name_cache_close(struct name_cache *cache);
DEFINE_CLEANUP(name_cache, struct name_cache *, name_cache_close)

#define NAME_KEY_SIZE 72
/*
 * Everything on which the names depend: the file's owner, inode, size, times and build-id, and
 * whether the file had a debug file. The build-id alone is not an identity, because anybody can
 * copy it into a file of their own.
 */
struct name_key {
	uint8_t bytes[NAME_KEY_SIZE];
};
void name_key_make(const struct tape_module *module, const struct stat *about, bool debug,
		   struct name_key *ret_key);

/* Names those unresolved addresses that the cache contains. Returns 0 or -ENOMEM. */
int name_cache_load(struct name_cache *cache, const struct name_key *key,
		    struct addresses *addresses);
/*
 * Adds the named addresses that the cache lacks. Ignores errors, because a missing cache only costs
 * time.
 */
void name_cache_save(struct name_cache *cache, const struct name_key *key,
		     struct addresses *addresses);
