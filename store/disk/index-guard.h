/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * SQLite reads a file that somebody else may have written. The guard keeps the file from making our
 * questions mean something else, or take for ever: the tables must be ours, byte for byte, views,
 * triggers and functions in the schema do not run, and the work of a statement is bounded.
 */

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct index_guard {
	/* What the present statement may still do. */
	uint64_t steps_left;
	uint64_t file_bytes;
};

/*
 * Returns false for a pipe, a device or a link: SQLite waits for ever for the other end of a pipe,
 * and follows links.
 */
bool index_guard_may_open(const char *path);
/* Guards a connection to the file. The guard must live as long as the connection. */
void index_guard_set(sqlite3 *db, struct index_guard *guard, const char *path);
/* Begins a statement: it may do as much as the size of the file justifies. */
void index_guard_begin(struct index_guard *guard);
/* Compares the schema with ours. Returns SQLITE_OK, SQLITE_MISMATCH, or another code of SQLite. */
int index_guard_check(sqlite3 *db, struct index_guard *guard);
/* Makes the tables if the file has none. Returns SQLITE_OK or another code. */
int index_guard_make_tables(sqlite3 *db, struct index_guard *guard);
