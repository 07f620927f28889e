// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as a file of kept names, and as the rows of a sound block of such a file. An
 * address that gets a name from the file must lie at most one byte before the start of that name.
 * Names that are saved later must be found again.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "naming/name-cache.h"

#define ADDRESS 0x1000
#define ADDRESSES 4
/* The number of bytes before the blocks. */
#define HEAD_SIZE (8 + 4 + NAME_KEY_SIZE + 4)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/dev/shm/perftape-fuzz-cache-XXXXXX";
static char path[sizeof(dir) + 256];
static char *head;
static struct name_cache *cache;
static const struct name_key key = { { 'k', 'e', 'y' } };

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void remove_all(void)
{
	name_cache_close(cache);
	free(head);
	unlink(path);
	rmdir(dir);
}

static void want(struct addresses *addresses)
{
	for (uint64_t i = 0; i < ADDRESSES; i++)
		check(addresses_add(addresses, ADDRESS + i) == 0);
	addresses_sort(addresses);
}

static void save(struct addresses *addresses)
{
	for (size_t i = 0; i < ADDRESSES; i++)
		if (addresses->list.items[i].state == ADDRESSES_OPEN)
			check(addresses_answer(addresses, i, ADDRESS, "name") == 0);
	name_cache_save(cache, &key, addresses);
}

/* The file with the names of the key, and the header of this file. */
static void start(void)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	struct dirent *entry;
	DIR *folder;

	check(mkdtemp(dir) && name_cache_open(dir, 1 << 20, &cache) == 0);
	atexit(remove_all);
	want(&addresses);
	save(&addresses);
	folder = opendir(dir);
	check(folder != NULL);
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
	closedir(folder);
	check(file_read(path, 1 << 20, &head, NULL) == 0);
}

static void load(struct addresses *addresses)
{
	want(addresses);
	check(name_cache_load(cache, &key, addresses) == 0);
	for (size_t i = 0; i < ADDRESSES; i++) {
		const struct address *address = &addresses->list.items[i];

		if (address->state == ADDRESSES_NAMED)
			check(address->start <= address->address + 1 &&
			      *addresses_name(addresses, address));
	}
}

static void run(const void *data, size_t size)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 }, again = { 0 };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	check(fd >= 0 && file_write_all(fd, data, size) == 0);
	close(fd);
	load(&addresses);
	save(&addresses);
	load(&again);
	check(again.open == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer block = { 0 };

	if (!cache)
		start();
	run(data, size);
	buffer_bytes(&block, head, HEAD_SIZE);
	buffer_u32(&block, size);
	buffer_u32(&block, crc32c(0, data, size));
	buffer_bytes(&block, data, size);
	check(!buffer_failed(&block));
	run(block.data, block.size);
	return 0;
}
