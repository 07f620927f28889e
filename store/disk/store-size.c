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

struct bytes_of {
	const char *path;
	const char *folder;
	uint64_t bytes, taken_bytes;
};

/* The WAL is in the index sooner or later: what comes and goes by itself must not cost segments. */
static bool is_beside_index(const char *name)
{
	return strcmp(name, STORE_INDEX "-wal") == 0 || strcmp(name, STORE_INDEX "-shm") == 0;
}

/* A file that is gone by now takes nothing. */
static int store_size_add(void *context, const char *name)
{
	struct bytes_of *of = context;
	char file[PATH_MAX];
	struct stat about;

	if (snprintf(file, sizeof(file), "%s/%s/%s", of->path, of->folder, name) >=
		    (int)sizeof(file) ||
	    lstat(file, &about) < 0 || !S_ISREG(about.st_mode))
		return 0;
	of->taken_bytes += store_taken(about.st_size);
	if (!is_beside_index(name))
		of->bytes += about.st_size;
	return 0;
}

int store_other_bytes(const char *path, uint64_t *ret_bytes, uint64_t *ret_taken_bytes,
		      struct error *error)
{
	static const char *const folders[] = { ".", STORE_SPOOLS, STORE_NAMES };
	struct bytes_of of = { .path = path };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		int r;

		of.folder = folders[i];
		r = store_each_name(path, folders[i], store_size_add, &of, error);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	*ret_bytes = of.bytes;
	*ret_taken_bytes = of.taken_bytes;
	return 0;
}
