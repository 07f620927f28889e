/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Shared by the files of the index: the connection, its errors and its statements. */

#include <sys/types.h>

#include "store/disk/index-guard.h"
#include "store/disk/index.h"

struct index {
	sqlite3 *db;
	struct index_guard guard;
	/*
	 * Reads busy CPUs and outlines, between index_begin_reading() and index_end_reading(). NULL
	 * for a table that the index lacks.
	 */
	sqlite3_stmt *ask[INDEX_TABLES];
	/* An older version, without the table of outlines; only for reading. */
	bool lacks_outlines;
	/*
	 * The path of the WAL if we opened the index without the WAL. The WAL must then stay empty.
	 */
	char *wal;
	/* The path and the identity of the file, if the index is open for writing. */
	char *path;
	dev_t device;
	ino_t inode;
};

/* Turns a code of SQLite into a negative errno and a message. */
int index_error(struct index *index, int code, struct error *error);
/* Prepares a statement, whose limit of work depends on the size of the file. */
int index_statement(struct index *index, const char *sql, sqlite3_stmt **ret_statement,
		    struct error *error);
/* Runs a text of statements without parameters and results. */
int index_run(struct index *index, const char *sql, struct error *error);
