/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Files that are held open for who names tapes, found by what was mapped: those of modules by their
 * identity, and what processes write about the code that they make by pid. Bounded: the one that
 * was not seen to be mapped for the longest time makes room. Of opener.c alone.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/table.h"
#include "naming/finder.h"

#define FD_CACHE_MAX 8192

enum fd_cache_state {
	FD_CACHE_FREE,
	/* to be sent for */
	FD_CACHE_WAITING,
	FD_CACHE_ASKED,
	FD_CACHE_OPEN,
	FD_CACHE_FAILED,
};

struct fd_cache_file {
	enum finder_kind kind;
	enum fd_cache_state state;
	/* as it was seen; of a process that makes code, nothing */
	struct tape_module module;
	struct tape_module found;
	char *path;
	uint64_t hash;
	int32_t pid;
	/* the process whose pid it is: the next one with it is another one */
	bool ended;
	/* of one that failed */
	int result;
	uint32_t tries;
	/* the last time, as fd_cache_touch() was told; CLOCK_MONOTONIC, as tried_ns */
	uint64_t seen_ns;
	uint64_t tried_ns;
	/* wall clock */
	uint64_t until_ns;
	struct finder_files files;
	/* of the first file, as it was opened */
	struct stat about;
	/* the ones that were seen before and after it: places in the list, from 1; 0: none */
	uint32_t older;
	uint32_t newer;
};

/* Zeroed but for files_max to start. An item stays where it is as long as none is added. */
struct fd_cache {
	array_of(struct fd_cache_file) list;
	array_of(uint32_t) free;
	struct table table;
	/* as the links of items */
	uint32_t oldest;
	uint32_t newest;
	/* descriptors, of all of them */
	size_t files;
	/* of these; of fewer than two the last one's stay */
	size_t files_max;
};

void fd_cache_done(struct fd_cache *held);
/* NULL when it is not there. */
struct fd_cache_file *fd_cache_find(const struct fd_cache *held,
				    const struct finder_request *request);
/* One that was not there, to be sent for, which may take the place of another one. NULL when all
 * wait for an answer, or without memory. */
struct fd_cache_file *fd_cache_add(struct fd_cache *held, const struct finder_request *request);
/* It was seen now. */
void fd_cache_touch(struct fd_cache *held, struct fd_cache_file *file, uint64_t now);
void fd_cache_remove(struct fd_cache *held, struct fd_cache_file *file);

/* Takes files over that belong to it; makes room for them first. `about` is of the first one. */
void fd_cache_open(struct fd_cache *held, struct fd_cache_file *file,
		   const struct tape_module *found, const struct stat *about,
		   const struct finder_files *files);
/* Copies of the descriptors, which are not touched. 0, or why not, as finder_find(). */
int fd_cache_copy(const struct fd_cache_file *file, struct finder_files *ret_files);
