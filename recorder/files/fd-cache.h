/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Files that stay open until the namer has named their tape. The cache finds files of modules by
 * their identity, and perf maps and jitdumps by pid (processes write both about the code that they
 * generate). The cache is bounded: it first closes the file that was not mapped for the longest
 * time. A process that has used up its share cannot add further files. Private to opener.c.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/table.h"
#include "naming/finder.h"

#define FD_CACHE_MAX 8192
/* Bytes of all paths together. A process may choose paths of up to 4 KB. */
#define FD_CACHE_TEXT_MAX (4u << 20)
/* A process may add at most this number of items, and at most 1/FD_CACHE_PARTS of `files_max`. */
#define FD_CACHE_SHARE 512
#define FD_CACHE_PARTS 4
/*
 * Number of counters for these items. Processes whose pids have the same counter have one share
 * together.
 */
#define FD_CACHE_OWNERS 4096

enum fd_cache_state {
	FD_CACHE_FREE,
	/* the opener does not know yet who pays */
	FD_CACHE_UNOWNED,
	/* the opener has not sent the question to the helper yet */
	FD_CACHE_WAITING,
	FD_CACHE_ASKED,
	FD_CACHE_OPEN,
	FD_CACHE_FAILED,
};

/* A process that maps the file, and who pays for opening it. */
struct fd_cache_asker {
	int32_t pid;
	/* 0: nobody pays */
	uint64_t payer;
	/* when it mapped the file, on the wall clock */
	uint64_t until_ns;
};

struct fd_cache_file {
	enum finder_kind kind;
	enum fd_cache_state state;
	/* the module as the process mapped it; empty for a process that generates code */
	struct tape_module module;
	struct tape_module found;
	char *path;
	uint64_t hash;
	/* FINDER_JIT: the pid is part of the identity */
	struct fd_cache_asker asker;
	/*
	 * another process that mapped the file while the file was not open, and may pay, too; pid
	 * 0: none
	 */
	struct fd_cache_asker next_asker;
	/* the process that mapped the file first, as an index of `owned` */
	uint32_t owner;
	/* number of turns for which the opener has waited to learn who pays */
	uint32_t unowned_turns;
	/* the process has ended; a later process with this pid is a different process */
	bool ended;
	/* the error, if opening the file failed */
	int result;
	uint32_t tries;
	/* the last fd_cache_touch(); CLOCK_MONOTONIC, like tried_ns */
	uint64_t seen_ns;
	uint64_t tried_ns;
	struct finder_files files;
	/* describes the first of `files` when it was opened */
	struct stat about;
	/* neighbours in the order: indexes of the list, + 1; 0: none */
	uint32_t older;
	uint32_t newer;
};

/* Zeroed to start, except files_max. An item does not move until the next one is added. */
struct fd_cache {
	array_of(struct fd_cache_file) list;
	array_of(uint32_t) free;
	struct table table;
	/* both ends of the order: indexes of the list, + 1; 0: none */
	uint32_t oldest;
	uint32_t newest;
	/* open descriptors of all items */
	size_t files;
	/* the greatest `files`; the item that was opened last stays open in any case */
	size_t files_max;
	/* bytes of all paths */
	size_t text;
	/* how many items each process added */
	uint16_t owned[FD_CACHE_OWNERS];
};

void fd_cache_done(struct fd_cache *cache);
/* Returns the item of a file; NULL when the file is not in the cache. */
struct fd_cache_file *fd_cache_find(const struct fd_cache *cache,
				    const struct finder_request *request);
/*
 * Adds a file that is not in the cache, in state FD_CACHE_WAITING. The new item may replace the
 * oldest one. Returns NULL when all items wait for an answer, when the process has used up its
 * share, or without memory.
 */
struct fd_cache_file *fd_cache_add(struct fd_cache *cache, const struct finder_request *request);
/* Notes that a process mapped the file now. */
void fd_cache_touch(struct fd_cache *cache, struct fd_cache_file *file, uint64_t now);
void fd_cache_remove(struct fd_cache *cache, struct fd_cache_file *file);

/*
 * Takes ownership of `files`. Before that, closes older descriptors if there are too many. `about`
 * describes the first of `files`.
 */
void fd_cache_open(struct fd_cache *cache, struct fd_cache_file *file,
		   const struct tape_module *found, const struct stat *about,
		   const struct finder_files *files);
/*
 * Duplicates the descriptors; the caller owns the copies. Returns 0 or the error of finder_find().
 */
int fd_cache_copy(const struct fd_cache_file *file, struct finder_files *ret_files);
/*
 * Returns whether the content is that of `was`; ignores ctime, which a rename changes, too. May
 * wait for the file system.
 */
bool fd_cache_is_unchanged(int fd, const struct stat *was);
