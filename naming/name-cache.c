// SPDX-License-Identifier: GPL-2.0-only
#include "naming/name-cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"

#define MAGIC "PERFNAME"
#define VERSION 2
#define HEADER_SIZE (8 + 4 + NAME_KEY_SIZE + 4)
#define BLOCK_HEADER 8
/*
 * name_cache_append() empties a file that would grow beyond this size. Recordings take a long time
 * to collect enough names of one file.
 */
#define FILE_MAX (16u << 20)
/* Eviction reduces the size to this part of the limit, so that evictions are rare. */
#define EVICT_TO 3 / 4

struct name_cache {
	int folder;
	uint64_t max_bytes;
	uint64_t bytes;
};

struct cached_file {
	uint64_t used_ns;
	uint64_t bytes;
	char name[NAME_MAX + 1];
};

struct name_cache *name_cache_close(struct name_cache *cache)
{
	if (!cache)
		return NULL;
	if (cache->folder >= 0)
		close(cache->folder);
	free(cache);
	return NULL;
}

/* Calls see() for each file of the folder. */
static void each_file(const struct name_cache *cache,
		      void (*see)(void *context, const struct cached_file *file), void *context)
{
	int fd = fcntl(cache->folder, F_DUPFD_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat about;

	if (!dir && fd >= 0)
		close(fd);
	if (dir)
		rewinddir(dir);
	while (dir && (entry = readdir(dir))) {
		struct cached_file file;

		if (fstatat(cache->folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(about.st_mode))
			continue;
		file.used_ns = about.st_mtim.tv_sec * NSEC_PER_SEC + about.st_mtim.tv_nsec;
		file.bytes = about.st_size;
		snprintf(file.name, sizeof(file.name), "%s", entry->d_name);
		see(context, &file);
	}
	if (dir)
		closedir(dir);
}

static void name_cache_add_bytes(void *context, const struct cached_file *file)
{
	((struct name_cache *)context)->bytes += file->bytes;
}

int name_cache_open(const char *dir, uint64_t max_bytes, struct name_cache **ret_cache)
{
	_cleanup_(cleanup_name_cache) struct name_cache *cache = calloc(1, sizeof(*cache));
	int r = file_make_dirs(dir, 0750);

	if (!cache || r < 0)
		return cache ? r : -ENOMEM;
	cache->max_bytes = max_bytes;
	cache->folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cache->folder < 0)
		return -errno;
	each_file(cache, name_cache_add_bytes, cache);
	*ret_cache = take_ptr(cache);
	return 0;
}

void name_key_make(const struct tape_module *module, const struct stat *about, bool debug,
		   struct name_key *ret_key)
{
	uint64_t numbers[] = { about->st_dev,
			       about->st_ino,
			       about->st_size,
			       about->st_mtim.tv_sec * NSEC_PER_SEC + about->st_mtim.tv_nsec,
			       about->st_ctim.tv_sec * NSEC_PER_SEC + about->st_ctim.tv_nsec,
			       about->st_uid };
	uint8_t *at = ret_key->bytes;

	memset(ret_key, 0, sizeof(*ret_key));
	at[0] = module->build_id_size;
	at[1] = debug;
	memcpy(at + 2, module->build_id, module->build_id_size);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		uint64_t number = htole64(numbers[i]);

		memcpy(at + 24 + 8 * i, &number, 8);
	}
}

static void file_name(const struct name_key *key, char name[32])
{
	snprintf(name, 32, "%016" PRIx64 ".names", hash_bytes(key->bytes, sizeof(key->bytes)));
}

static void name_cache_put_header(const struct name_key *key, struct buffer *bytes)
{
	buffer_bytes(bytes, MAGIC, 8);
	buffer_u32(bytes, VERSION);
	buffer_bytes(bytes, key->bytes, sizeof(key->bytes));
	if (!buffer_failed(bytes))
		buffer_u32(bytes, crc32c(0, bytes->data, bytes->size));
}

static bool has_header_of(const struct name_key *key, struct reader *reader)
{
	_cleanup_(buffer_done) struct buffer header = { 0 };
	const void *bytes = reader_take(reader, HEADER_SIZE);

	name_cache_put_header(key, &header);
	return bytes && !buffer_failed(&header) && memcmp(bytes, header.data, HEADER_SIZE) == 0;
}

static int name_cache_take_rows(struct reader *rows, struct addresses *addresses)
{
	int r = 0;

	while (r == 0 && reader_left(rows)) {
		uint64_t address = reader_u64(rows), start = reader_u64(rows);
		const char *name = reader_string(rows);
		struct address *found;

		if (!name)
			return 0;
		found = addresses_find(addresses, address);
		if (!found || found->state != ADDRESSES_OPEN || start > address + 1 || !*name)
			continue;
		found->cached = true;
		r = addresses_answer(addresses, found - addresses->list.items, start, name);
	}
	return r;
}

/* Reads all valid blocks. Sets *ret_end to the end of the last valid block. */
static int take_blocks(struct reader *reader, struct addresses *addresses, uint64_t *ret_end)
{
	int r = 0;

	while (r == 0) {
		uint32_t size, crc;
		struct reader rows;
		const void *body;

		*ret_end = reader->position;
		size = reader_u32(reader);
		crc = reader_u32(reader);
		body = reader_take(reader, size);
		if (!body || crc32c(0, body, size) != crc)
			return 0;
		reader_init(&rows, body, size);
		r = name_cache_take_rows(&rows, addresses);
	}
	return r;
}

int name_cache_load(struct name_cache *cache, const struct name_key *key,
		    struct addresses *addresses)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	struct reader reader;
	uint64_t end = 0;
	char name[32];
	size_t size;
	int r = 0;

	file_name(key, name);
	fd = openat(cache->folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || file_read_fd(fd, FILE_MAX, &text, &size) < 0)
		return 0;
	reader_init(&reader, text, size);
	if (has_header_of(key, &reader))
		r = take_blocks(&reader, addresses, &end);
	/* with too many names (-E2BIG), leave the cache as it is */
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (end < size && ftruncate(fd, end) == 0)
		cache->bytes -= MIN(cache->bytes, size - end);
	futimens(fd, NULL);
	return 0;
}

struct eviction {
	array_of(struct cached_file) files;
	bool failed;
};

static void note_file(void *context, const struct cached_file *file)
{
	struct eviction *eviction = context;

	eviction->failed = array_push(&eviction->files, *file) < 0 || eviction->failed;
}

static int name_cache_compare_used(const void *a, const void *b)
{
	const struct cached_file *one = a, *other = b;

	return (one->used_ns > other->used_ns) - (one->used_ns < other->used_ns);
}

static void name_cache_evict(struct name_cache *cache)
{
	struct eviction eviction = { 0 };

	if (cache->bytes <= cache->max_bytes)
		return;
	each_file(cache, note_file, &eviction);
	if (eviction.files.count)
		qsort(eviction.files.items, eviction.files.count, sizeof(*eviction.files.items),
		      name_cache_compare_used);
	cache->bytes = 0;
	for (size_t i = 0; i < eviction.files.count; i++)
		cache->bytes += eviction.files.items[i].bytes;
	for (size_t i = 0; i < eviction.files.count && cache->bytes > cache->max_bytes * EVICT_TO;
	     i++)
		if (unlinkat(cache->folder, eviction.files.items[i].name, 0) == 0)
			cache->bytes -= eviction.files.items[i].bytes;
	array_done(&eviction.files);
}

static void name_cache_put_rows(struct addresses *addresses, struct buffer *rows)
{
	for (size_t i = 0; i < addresses->list.count; i++) {
		struct address *address = &addresses->list.items[i];

		if (address->state != ADDRESSES_NAMED || address->cached)
			continue;
		buffer_u64(rows, address->address);
		buffer_u64(rows, address->start);
		buffer_text(rows, addresses_name(addresses, address));
		buffer_u8(rows, 0);
		address->cached = true;
	}
}

/* Appends a block. If a write fails, a partial block remains, which the next load truncates. */
static void name_cache_append(struct name_cache *cache, const struct name_key *key,
			      const struct buffer *rows)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	_cleanup_close_ int fd = -1;
	struct stat about;
	char name[32];

	file_name(key, name);
	/* O_NONBLOCK, because the name may belong to a FIFO or another file that would block */
	fd = openat(cache->folder, name,
		    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
	if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
		return;
	if (about.st_size + rows->size > FILE_MAX && ftruncate(fd, 0) == 0) {
		cache->bytes -= MIN(cache->bytes, (uint64_t)about.st_size);
		about.st_size = 0;
	}
	if (about.st_size == 0)
		name_cache_put_header(key, &bytes);
	buffer_u32(&bytes, rows->size);
	buffer_u32(&bytes, crc32c(0, rows->data, rows->size));
	buffer_bytes(&bytes, rows->data, rows->size);
	if (!buffer_failed(&bytes) && file_write_all(fd, bytes.data, bytes.size) == 0)
		cache->bytes += bytes.size;
}

void name_cache_save(struct name_cache *cache, const struct name_key *key,
		     struct addresses *addresses)
{
	_cleanup_(buffer_done) struct buffer rows = { 0 };

	name_cache_put_rows(addresses, &rows);
	if (!rows.size || buffer_failed(&rows) || rows.size > FILE_MAX)
		return;
	name_cache_append(cache, key, &rows);
	name_cache_evict(cache);
}
