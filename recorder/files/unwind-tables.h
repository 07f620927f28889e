/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The unwind tables (unwind/unwind-table.h) of the files that stacks go through. A module has one
 * table, which all processes share. A sandboxed helper makes it from the file (namer/name-unwind.h)
 * and hands it over as sealed memory.
 *
 * All functions are for the draining thread. Without `wait`, they never wait for a file, a helper
 * or a lock. A separate thread makes one table after the other (recorder/files/table-maker.h).
 *
 *   1. A table never moves, and stays valid until the next unwind_tables_turn() or
 *      unwind_tables_see().
 *   2. After each turn, all tables together have at most `bytes_max` bytes. Tables that no walk
 *      used for the longest time are evicted first.
 *   3. A file without unwind entries is requested only once. A file that could not be opened or
 *      read in time is requested again, after a time that doubles.
 *   4. A file that takes the inode of another one, or changes, gets a new table.
 *   5. Each table has its own number, for unwind/rule-cache.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "naming/finder.h"
#include "recorder/procs/tracker.h"
#include "unwind/stack-walk.h"

#define UNWIND_TABLES_BYTES (32u << 20)

struct unwind_tables;

struct unwind_tables_options {
	/* Finds the file of a module. Its `helper` is not used: the table maker has its own. */
	struct finder finder;
	/* 0: UNWIND_TABLES_BYTES */
	size_t bytes_max;
	/* Make each table at once, in the caller's thread. For an import, which may wait. */
	bool wait;
	/*
	 * A time on the wall clock. A file that is known only by its inode must not have changed
	 * after this time. 0: any time; with a live finder, the moment at which the table is made.
	 */
	uint64_t until_ns;
	/*
	 * Knows the owners of processes, who share the time to make tables. NULL: no bound, as for
	 * an import, whose file a person chose.
	 */
	struct tracker *tracker;
	/* The processes run on this kernel, so they have the same [vdso] as this process. */
	bool own_vdso;
};

/* Returns 0 or a negative errno. */
int unwind_tables_new(const struct unwind_tables_options *options,
		      struct unwind_tables **ret_tables);
struct unwind_tables *unwind_tables_free(struct unwind_tables *tables);
DEFINE_CLEANUP(unwind_tables, struct unwind_tables *, unwind_tables_free)

/*
 * Takes finished tables, and evicts old ones. Call it before each run of walks, at least once per
 * second.
 */
void unwind_tables_turn(struct unwind_tables *tables);

/*
 * Takes a MMAP or MMAP2 record of a process as soon as the record comes. Requests the table of a
 * new file, and checks whether a known file has changed. Ignores other records.
 */
void unwind_tables_see(struct unwind_tables *tables, const struct perf_record *record);

/*
 * Sets the kind and the table of a module of the tracker. If the table does not exist yet, requests
 * it. `pid` is a process that maps the module. Does not set the bounds of the mapping.
 */
void unwind_tables_find(struct unwind_tables *tables, const struct modules *modules,
			uint32_t module, int32_t pid, struct stack_code *ret_code);

/* The context of unwind_tables_code(). */
struct unwind_tables_view {
	struct unwind_tables *tables;
	struct tracker *tracker;
	int32_t pid;
};
/* The callback of a `struct stack_walk`, for the present state of the tracker. */
bool unwind_tables_code(void *view, uint64_t address, struct stack_code *ret_code);

struct unwind_tables_counts {
	/* The present number of tables, and their bytes. */
	size_t tables;
	size_t bytes;
	/* Tables that were made, and evicted. */
	uint64_t made;
	uint64_t evicted;
	/* Files without unwind entries for code. */
	uint64_t without;
	/*
	 * Requests that failed: the file could not be opened or read, is damaged or too large, or
	 * the helper died.
	 */
	uint64_t failed;
	/*
	 * The longest time from a request to its table. The next turn takes the table, before it
	 * walks stacks.
	 */
	uint64_t longest_ns;
};
/* For the draining thread. */
void unwind_tables_counts(const struct unwind_tables *tables,
			  struct unwind_tables_counts *ret_counts);
