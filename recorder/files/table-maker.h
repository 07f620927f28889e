/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Makes unwind tables in a separate thread, one after the other. The owners of processes take
 * turns. Finds the file, asks the naming helper for the table, checks the table and maps it.
 * Private to unwind-tables.c.
 *
 * The draining thread never waits: it tries the lock, and tries again later if another thread holds
 * the lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "naming/finder.h"
#include "unwind/unwind-table.h"

/* The greatest number of requests and answers that wait, and of those of one owner. */
#define TABLE_REQUESTS_MAX 256
#define TABLE_REQUESTS_OWN 128

struct table_request {
	/* The answer has the same ticket. */
	uint64_t ticket;
	struct tape_module module;
	/* Owned. */
	char *path;
	int32_t pid;
	/* The owner of the process, as in `struct finder_request`. */
	uint64_t owner;
	/* A walk needs the table now; the thread takes urgent requests of an owner first. */
	bool urgent;
	/* Make a table only if the file differs from `about`. */
	bool check;
	struct stat about;
	/* CLOCK_MONOTONIC */
	uint64_t asked_ns;
	/* Set by the maker: the turn after which the owner began to wait. */
	uint64_t turn;
};

struct table_answer {
	uint64_t ticket;
	uint64_t owner;
	/*
	 * 0: a table; 1: the request had `check`, and the file did not change; negative errno: no
	 * table; -EDQUOT: the owner of the request has used up the time for its tables.
	 */
	int result;
	/* Owned by the receiver. */
	void *memory;
	size_t size;
	struct unwind_table table;
	struct stat about;
	/* The times of the request and of the answer, CLOCK_MONOTONIC. */
	uint64_t asked_ns;
	uint64_t made_ns;
};

struct table_maker;

/*
 * For `until_ns`, see `struct unwind_tables_options`. With `wait`, does not start a thread: the
 * caller calls table_maker_make(). Returns 0 or a negative errno.
 */
int table_maker_new(const struct finder *finder, uint64_t until_ns, bool wait,
		    struct table_maker **ret_maker);
struct table_maker *table_maker_free(struct table_maker *maker);

/* Makes a table in the caller's thread. Takes ownership of the path. For a maker with `wait`. */
void table_maker_make(struct table_maker *maker, struct table_request *request,
		      struct table_answer *ret_answer);
/* Returns whether the maker took the request, with ownership of the path. Never waits. */
bool table_maker_ask(struct table_maker *maker, const struct table_request *request);
/* Returns whether the maker had an answer. Never waits. */
bool table_maker_take(struct table_maker *maker, struct table_answer *ret_answer);
/* Unmaps the memory of an answer. */
void table_answer_done(struct table_answer *answer);
