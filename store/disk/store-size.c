// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/store-size.h"

#include <stdio.h>
#include <sys/stat.h>

#include "store/disk/files.h"

uint64_t store_taken(uint64_t bytes)
{
	static const uint64_t block_bytes = 4096;

	return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

struct size_sum {
	const char *path;
	const char *folder;
	uint64_t bytes, taken_bytes;
};

/*
 * Returns whether SQLite keeps the file only temporarily. The WAL goes into the index, so its size
 * must not make retention remove segments.
 */
static bool is_beside_index(const char *name)
{
	return strcmp(name, STORE_INDEX "-wal") == 0 || strcmp(name, STORE_INDEX "-shm") == 0;
}

/* Adds a file. A file that vanished meanwhile takes no space. */
static int store_size_add(void *context, const char *name)
{
	struct size_sum *sum = context;
	char file[PATH_MAX];
	struct stat about;

	if (snprintf(file, sizeof(file), "%s/%s/%s", sum->path, sum->folder, name) >=
		    (int)sizeof(file) ||
	    lstat(file, &about) < 0 || !S_ISREG(about.st_mode))
		return 0;
	sum->taken_bytes += store_taken(about.st_size);
	if (!is_beside_index(name))
		sum->bytes += about.st_size;
	return 0;
}

int store_other_bytes(const char *path, uint64_t *ret_bytes, uint64_t *ret_taken_bytes,
		      struct error *error)
{
	static const char *const folders[] = { ".", STORE_SPOOLS, STORE_NAMES };
	struct size_sum sum = { .path = path };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		int r;

		sum.folder = folders[i];
		r = store_each_name(path, folders[i], store_size_add, &sum, error);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	*ret_bytes = sum.bytes;
	*ret_taken_bytes = sum.taken_bytes;
	return 0;
}
