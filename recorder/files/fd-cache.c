// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/fd-cache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>

/*
 * Invariants:
 * (1) an item is in the table; or the item is FD_CACHE_FREE and on the free list, which has room
 *     for all items;
 * (2) `files` counts the open descriptors of all items; only FD_CACHE_OPEN items have open
 *     descriptors;
 * (3) `text` and `owned` count the paths and the owners of all items but FD_CACHE_FREE ones;
 * (4) all items but FD_CACHE_FREE ones are linked in the order in which they were last seen.
 */

static void close_files(struct fd_cache *cache, struct fd_cache_file *file)
{
	cache->files -= (file->files.fd >= 0) + (file->files.other_fd >= 0);
	finder_files_close(&file->files);
}

void fd_cache_done(struct fd_cache *cache)
{
	for (size_t i = 0; i < cache->list.count; i++)
		if (cache->list.items[i].state != FD_CACHE_FREE) {
			close_files(cache, &cache->list.items[i]);
			free(cache->list.items[i].path);
		}
	array_done(&cache->list);
	array_done(&cache->free);
	table_done(&cache->table);
}

static uint64_t hash_request(const struct finder_request *request)
{
	const struct tape_module *module = &request->module;

	if (request->kind == FINDER_JIT)
		return hash_numbers((uint32_t)request->pid, request->kind);
	return hash_numbers(module->inode, module->device) ^
	       hash_text(request->path, strlen(request->path)) ^
	       hash_text(module->build_id, sizeof(module->build_id));
}

static bool file_equal(const void *context, uint32_t at, const void *key)
{
	const struct fd_cache_file *file = &((const struct fd_cache *)context)->list.items[at];
	const struct finder_request *request = key;
	const struct tape_module *a = &file->module, *b = &request->module;

	if (file->kind != request->kind)
		return false;
	if (file->kind == FINDER_JIT)
		return file->asker.pid == request->pid;
	return a->device == b->device && a->inode == b->inode &&
	       a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0 &&
	       strcmp(file->path, request->path) == 0;
}

struct fd_cache_file *fd_cache_find(const struct fd_cache *cache,
				    const struct finder_request *request)
{
	uint32_t at = table_find(&cache->table, hash_request(request), file_equal, cache, request);

	return at == TABLE_NONE ? NULL : &cache->list.items[at];
}

/*
 * Returns the link from an item to its newer or older neighbour; for item 0, the link at the oldest
 * or the newest end.
 */
static uint32_t *link_to(struct fd_cache *cache, uint32_t neighbour, bool newer)
{
	struct fd_cache_file *file = neighbour ? &cache->list.items[neighbour - 1] : NULL;

	if (newer)
		return file ? &file->newer : &cache->oldest;
	return file ? &file->older : &cache->newest;
}

static void leave_order(struct fd_cache *cache, struct fd_cache_file *file)
{
	*link_to(cache, file->older, true) = file->newer;
	*link_to(cache, file->newer, false) = file->older;
}

static void join_order(struct fd_cache *cache, struct fd_cache_file *file)
{
	uint32_t link = file - cache->list.items + 1;

	file->newer = 0;
	file->older = cache->newest;
	*link_to(cache, file->older, true) = link;
	cache->newest = link;
}

void fd_cache_touch(struct fd_cache *cache, struct fd_cache_file *file, uint64_t now)
{
	file->seen_ns = now;
	leave_order(cache, file);
	join_order(cache, file);
}

void fd_cache_remove(struct fd_cache *cache, struct fd_cache_file *file)
{
	uint32_t at = file - cache->list.items;

	assert(file->state != FD_CACHE_FREE);
	assert(cache->free.count < cache->list.count);
	close_files(cache, file);
	leave_order(cache, file);
	table_remove(&cache->table, file->hash, at);
	cache->text -= strlen(file->path) + 1;
	cache->owned[file->owner]--;
	free(file->path);
	*file = (struct fd_cache_file){ 0 };
	cache->free.items[cache->free.count++] = at;
}

/* Removes the oldest item that does not wait for the helper. */
static bool remove_oldest(struct fd_cache *cache, bool failed_too)
{
	for (uint32_t link = cache->oldest; link; link = cache->list.items[link - 1].newer) {
		struct fd_cache_file *file = &cache->list.items[link - 1];

		if (file->state == FD_CACHE_OPEN ||
		    (failed_too && file->state == FD_CACHE_FAILED)) {
			fd_cache_remove(cache, file);
			return true;
		}
	}
	return false;
}

static uint32_t fd_cache_owner_of(const struct finder_request *request)
{
	return hash_numbers((uint32_t)request->pid, 0x6f776e) % FD_CACHE_OWNERS;
}

static bool has_share(const struct fd_cache *cache, uint32_t owner)
{
	size_t share = MIN(cache->files_max / FD_CACHE_PARTS, (size_t)FD_CACHE_SHARE);

	return cache->owned[owner] >= MAX(share, (size_t)1);
}

static bool make_room_for_text(struct fd_cache *cache, size_t size)
{
	while (cache->text + size > FD_CACHE_TEXT_MAX)
		if (!remove_oldest(cache, true))
			return false;
	return true;
}

/* Finds a place in the list for one more item. */
static int take_place(struct fd_cache *cache, uint32_t *ret_at)
{
	if (!cache->free.count && cache->list.count < FD_CACHE_MAX) {
		if (array_reserve(&cache->free, cache->list.count + 1) < 0 ||
		    array_push(&cache->list, (struct fd_cache_file){ 0 }) < 0)
			return -ENOMEM;
		cache->free.items[cache->free.count++] = cache->list.count - 1;
	}
	if (!cache->free.count && !remove_oldest(cache, true))
		return -ENOSPC;
	*ret_at = cache->free.items[cache->free.count - 1];
	return 0;
}

struct fd_cache_file *fd_cache_add(struct fd_cache *cache, const struct finder_request *request)
{
	struct fd_cache_file fresh = { .kind = request->kind,
				       .state = FD_CACHE_WAITING,
				       .module = request->module,
				       .hash = hash_request(request),
				       .asker = { request->pid, request->owner, request->until_ns },
				       .owner = fd_cache_owner_of(request),
				       .files = { -1, -1 } };
	size_t size = strlen(request->path) + 1;
	uint32_t at;

	if (has_share(cache, fresh.owner) || !make_room_for_text(cache, size) ||
	    take_place(cache, &at) < 0)
		return NULL;
	fresh.path = strdup(request->path);
	if (!fresh.path || table_add(&cache->table, fresh.hash, at) < 0) {
		free(fresh.path);
		return NULL;
	}
	cache->free.count--;
	cache->text += size;
	cache->owned[fresh.owner]++;
	cache->list.items[at] = fresh;
	join_order(cache, &cache->list.items[at]);
	return &cache->list.items[at];
}

void fd_cache_open(struct fd_cache *cache, struct fd_cache_file *file,
		   const struct tape_module *found, const struct stat *about,
		   const struct finder_files *files)
{
	while (cache->files + 2 > cache->files_max && remove_oldest(cache, false))
		;
	file->state = FD_CACHE_OPEN;
	file->found = *found;
	file->files = *files;
	file->about = *about;
	cache->files += (files->fd >= 0) + (files->other_fd >= 0);
}

static int duplicate_fd(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int fd_cache_copy(const struct fd_cache_file *file, struct finder_files *ret_files)
{
	if (file->state != FD_CACHE_OPEN)
		return file->state == FD_CACHE_FAILED ? file->result : -ENOENT;
	ret_files->fd = duplicate_fd(file->files.fd);
	ret_files->other_fd = duplicate_fd(file->files.other_fd);
	return ret_files->fd < 0 && ret_files->other_fd < 0 ? -EMFILE : 0;
}

bool fd_cache_is_unchanged(int fd, const struct stat *was)
{
	struct stat about;

	return fstat(fd, &about) == 0 && about.st_size == was->st_size &&
	       about.st_mtim.tv_sec == was->st_mtim.tv_sec &&
	       about.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}
