// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/fd-cache.h"

#include <errno.h>
#include <fcntl.h>

/*
 * Invariants:
 * (1) an item is in the table, or HELD_FREE and on the free list, for which there is always room;
 * (2) `files` counts what the items have open; only those that are HELD_OPEN have any;
 * (3) those that are not HELD_FREE are linked in the order in which they were seen last.
 */

static void close_files(struct fd_cache *held, struct fd_cache_file *file)
{
	held->files -= (file->files.fd >= 0) + (file->files.other_fd >= 0);
	finder_files_close(&file->files);
}

void fd_cache_done(struct fd_cache *held)
{
	for (size_t i = 0; i < held->list.count; i++)
		if (held->list.items[i].state != FD_CACHE_FREE) {
			close_files(held, &held->list.items[i]);
			free(held->list.items[i].path);
		}
	array_done(&held->list);
	array_done(&held->free);
	table_done(&held->table);
}

static uint64_t hash_request(const struct finder_request *request)
{
	const struct tape_module *module = &request->module;

	if (request->kind == FINDER_JIT)
		return hash_u64((uint32_t)request->pid);
	return hash_u64(module->inode ^ module->device << 40) ^
	       hash_bytes(request->path, strlen(request->path)) ^
	       hash_bytes(module->build_id, sizeof(module->build_id));
}

static bool file_equal(const void *context, uint32_t at, const void *key)
{
	const struct fd_cache_file *file = &((const struct fd_cache *)context)->list.items[at];
	const struct finder_request *request = key;
	const struct tape_module *a = &file->module, *b = &request->module;

	if (file->kind != request->kind)
		return false;
	if (file->kind == FINDER_JIT)
		return file->pid == request->pid;
	return a->device == b->device && a->inode == b->inode &&
	       a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0 &&
	       strcmp(file->path, request->path) == 0;
}

struct fd_cache_file *fd_cache_find(const struct fd_cache *held,
				    const struct finder_request *request)
{
	uint32_t at = table_find(&held->table, hash_request(request), file_equal, held, request);

	return at == TABLE_NONE ? NULL : &held->list.items[at];
}

/* Where the order goes on behind an item, or in front of it: the link to it of its neighbour, or of
 * the end. */
static uint32_t *link_to(struct fd_cache *held, uint32_t neighbour, bool newer)
{
	struct fd_cache_file *file = neighbour ? &held->list.items[neighbour - 1] : NULL;

	if (newer)
		return file ? &file->newer : &held->oldest;
	return file ? &file->older : &held->newest;
}

static void leave_order(struct fd_cache *held, struct fd_cache_file *file)
{
	*link_to(held, file->older, true) = file->newer;
	*link_to(held, file->newer, false) = file->older;
}

static void join_order(struct fd_cache *held, struct fd_cache_file *file)
{
	uint32_t link = file - held->list.items + 1;

	file->newer = 0;
	file->older = held->newest;
	*link_to(held, file->older, true) = link;
	held->newest = link;
}

void fd_cache_touch(struct fd_cache *held, struct fd_cache_file *file, uint64_t now)
{
	file->seen_ns = now;
	leave_order(held, file);
	join_order(held, file);
}

void fd_cache_remove(struct fd_cache *held, struct fd_cache_file *file)
{
	uint32_t at = file - held->list.items;

	close_files(held, file);
	leave_order(held, file);
	table_remove(&held->table, file->hash, at);
	free(file->path);
	*file = (struct fd_cache_file){ 0 };
	held->free.items[held->free.count++] = at;
}

/* Those that are to be sent for, or are, stay. */
static bool remove_oldest(struct fd_cache *held, bool failed_too)
{
	for (uint32_t link = held->oldest; link; link = held->list.items[link - 1].newer) {
		struct fd_cache_file *file = &held->list.items[link - 1];

		if (file->state == FD_CACHE_OPEN ||
		    (failed_too && file->state == FD_CACHE_FAILED)) {
			fd_cache_remove(held, file);
			return true;
		}
	}
	return false;
}

/* A place in the list for one more. */
static int take_place(struct fd_cache *held, uint32_t *ret_at)
{
	if (!held->free.count && held->list.count < FD_CACHE_MAX) {
		if (array_reserve(&held->free, held->list.count + 1) < 0 ||
		    array_push(&held->list, (struct fd_cache_file){ 0 }) < 0)
			return -ENOMEM;
		held->free.items[held->free.count++] = held->list.count - 1;
	}
	if (!held->free.count && !remove_oldest(held, true))
		return -ENOSPC;
	*ret_at = held->free.items[held->free.count - 1];
	return 0;
}

struct fd_cache_file *fd_cache_add(struct fd_cache *held, const struct finder_request *request)
{
	struct fd_cache_file fresh = { .kind = request->kind,
				       .state = FD_CACHE_WAITING,
				       .module = request->module,
				       .hash = hash_request(request),
				       .pid = request->pid,
				       .files = { -1, -1 } };
	uint32_t at;

	if (take_place(held, &at) < 0)
		return NULL;
	fresh.path = strdup(request->path);
	if (!fresh.path || table_add(&held->table, fresh.hash, at) < 0) {
		free(fresh.path);
		return NULL;
	}
	held->free.count--;
	held->list.items[at] = fresh;
	join_order(held, &held->list.items[at]);
	return &held->list.items[at];
}

void fd_cache_open(struct fd_cache *held, struct fd_cache_file *file,
		   const struct tape_module *found, const struct stat *about,
		   const struct finder_files *files)
{
	if (held->files + 2 > held->files_max)
		remove_oldest(held, false);
	file->state = FD_CACHE_OPEN;
	file->found = *found;
	file->files = *files;
	file->about = *about;
	held->files += (files->fd >= 0) + (files->other_fd >= 0);
}

static int fd_cache_copy_here(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int fd_cache_copy(const struct fd_cache_file *file, struct finder_files *ret_files)
{
	if (file->state != FD_CACHE_OPEN)
		return file->state == FD_CACHE_FAILED ? file->result : -ENOENT;
	ret_files->fd = fd_cache_copy_here(file->files.fd);
	ret_files->other_fd = fd_cache_copy_here(file->files.other_fd);
	return ret_files->fd < 0 && ret_files->other_fd < 0 ? -EMFILE : 0;
}
