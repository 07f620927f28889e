/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Files that stay open until their tape is named. Files of modules are found by their identity.
 * Perf maps and jitdumps, which processes write about the code they generate, are found by pid. The
 * cache is bounded: it closes the file first that was not mapped for the longest time. Private to
 * opener.c.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/table.h"
#include "naming/finder.h"

#define FD_CACHE_MAX 8192

enum fd_cache_state {
	FD_CACHE_FREE,
	/* to be sent to the helper */
	FD_CACHE_WAITING,
	FD_CACHE_ASKED,
	FD_CACHE_OPEN,
	FD_CACHE_FAILED,
};

struct fd_cache_file {
	enum finder_kind kind;
	enum fd_cache_state state;
	/* as it was mapped; empty for a process that generates code */
	struct tape_module module;
	struct tape_module found;
	char *path;
	uint64_t hash;
	int32_t pid;
	/* the process has ended; a later process with this pid is another one */
	bool ended;
	/* the error, if opening the file failed */
	int result;
	uint32_t tries;
	/* the last fd_cache_touch(); CLOCK_MONOTONIC, like tried_ns */
	uint64_t seen_ns;
	uint64_t tried_ns;
	/* wall clock */
	uint64_t until_ns;
	struct finder_files files;
	/* the first file when it was opened */
	struct stat about;
	/* neighbours in the order: places in the list, + 1; 0: none */
	uint32_t older;
	uint32_t newer;
};

/* Zeroed to start, except files_max. An item does not move until the next one is added. */
struct fd_cache {
	array_of(struct fd_cache_file) list;
	array_of(uint32_t) free;
	struct table table;
	/* both ends of the order: places in the list, + 1; 0: none */
	uint32_t oldest;
	uint32_t newest;
	/* open descriptors of all items */
	size_t files;
	/* bounds `files`; the item that was opened last stays open in any case */
	size_t files_max;
};

void fd_cache_done(struct fd_cache *cache);
/* Returns the item of a file; NULL when the file is not in the cache. */
struct fd_cache_file *fd_cache_find(const struct fd_cache *cache,
				    const struct finder_request *request);
/*
 * Adds a file that is not in the cache, in state FD_CACHE_WAITING. The new item may replace the
 * oldest one. Returns NULL when all items wait for an answer, or without memory.
 */
struct fd_cache_file *fd_cache_add(struct fd_cache *cache, const struct finder_request *request);
/* Takes note that the file was seen now. */
void fd_cache_touch(struct fd_cache *cache, struct fd_cache_file *file, uint64_t now);
void fd_cache_remove(struct fd_cache *cache, struct fd_cache_file *file);

/*
 * Takes ownership of `files`, and first closes as many older descriptors as necessary. `about`
 * describes the first of `files`.
 */
void fd_cache_open(struct fd_cache *cache, struct fd_cache_file *file,
		   const struct tape_module *found, const struct stat *about,
		   const struct finder_files *files);
/*
 * Duplicates the descriptors; the caller owns the copies. Returns 0 or the error of finder_find().
 */
int fd_cache_copy(const struct fd_cache_file *file, struct finder_files *ret_files);
