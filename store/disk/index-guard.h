/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * SQLite reads a file that somebody else may have written. The guard prevents the file from
 * changing the meaning of our statements, and from making them run for ever. The definitions of the
 * tables must equal ours byte for byte. Views, triggers and functions of the schema do not run. A
 * statement ends when its work exceeds a limit.
 */

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct index_guard {
	/* The instructions that the present statement may still execute. */
	uint64_t steps_left;
	uint64_t file_bytes;
};

/*
 * Returns false if the index, or a file that SQLite keeps beside it, is a pipe, a device or a link,
 * or has another name: SQLite waits for ever for the other end of a pipe, and even a reader writes
 * to these files.
 */
bool index_guard_may_open(const char *path);
/* Guards a connection to the file. The guard must live as long as the connection. */
void index_guard_set(sqlite3 *db, struct index_guard *guard, const char *path);
/* Begins a statement. Its limit of work depends on the size of the file. */
void index_guard_begin(struct index_guard *guard);
/*
 * Compares the schema with ours, or with that of the version without outlines. Returns SQLITE_OK,
 * SQLITE_MISMATCH, or another code of SQLite.
 */
int index_guard_check(sqlite3 *db, struct index_guard *guard, bool lacks_outlines);
/*
 * Creates the tables if the file is empty, or the table of outlines if only that is missing.
 * Returns SQLITE_OK or another code.
 */
int index_guard_make_tables(sqlite3 *db, struct index_guard *guard, bool lacks_outlines);
