// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/index-guard.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/*
 * The definitions of the tables, as SQLite stores these texts, sorted by name. Times are signed
 * 64-bit nanoseconds, which last until 2262.
 */
static const struct index_guard_table {
	const char *name, *sql;
} index_guard_tables[] = {
	{ "busy", "CREATE TABLE busy (segment TEXT PRIMARY KEY, cpus BLOB NOT NULL,\n"
		  "  checksum INTEGER NOT NULL) WITHOUT ROWID" },
	{ "incidents",
	  "CREATE TABLE incidents (segment TEXT NOT NULL, number INTEGER NOT NULL,\n"
	  "  id INTEGER NOT NULL, time_ns INTEGER NOT NULL, stall_ns INTEGER NOT NULL,\n"
	  "  error_ns INTEGER NOT NULL, perf_ns INTEGER NOT NULL, severity INTEGER NOT NULL,\n"
	  "  kind TEXT NOT NULL, text TEXT NOT NULL, source TEXT NOT NULL, fields TEXT NOT NULL,\n"
	  "  boot_id TEXT NOT NULL, checksum INTEGER NOT NULL,\n"
	  "  PRIMARY KEY (segment, number)) WITHOUT ROWID" },
	{ "outlines", "CREATE TABLE outlines (segment TEXT PRIMARY KEY, cpus BLOB NOT NULL,\n"
		      "  checksum INTEGER NOT NULL) WITHOUT ROWID" },
	{ "segments",
	  "CREATE TABLE segments (name TEXT PRIMARY KEY, boot_id TEXT NOT NULL,\n"
	  "  sequence INTEGER NOT NULL, begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,\n"
	  "  perf_begin_ns INTEGER NOT NULL, perf_end_ns INTEGER NOT NULL,\n"
	  "  samples INTEGER NOT NULL, lost INTEGER NOT NULL, incidents INTEGER NOT NULL,\n"
	  "  bytes INTEGER NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID" },
};

/*
 * The limit of work of one statement, in instructions of SQLite's virtual machine. Reading all rows
 * takes about one instruction per byte of the file. Without a limit, pages that refer to each other
 * in a circle would take for ever.
 */
#define STEPS_FREE 4000000ull
#define STEPS_A_BYTE 4
#define STEPS_AT_ONCE 1000

/* The longest value: the busy CPUs of a segment. */
#define VALUE_BYTES_MAX (16 << 20)

/* Ends a statement whose work exceeds the limit. */
static int index_guard_count(void *context)
{
	struct index_guard *guard = context;
	bool ends = guard->steps_left < STEPS_AT_ONCE;

	if (!ends)
		guard->steps_left -= STEPS_AT_ONCE;
	return ends;
}

bool index_guard_may_open(const char *path)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
	char file[PATH_MAX];
	struct stat about;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (snprintf(file, sizeof(file), "%s%s", path, suffixes[i]) >= (int)sizeof(file))
			return false;
		if (lstat(file, &about) < 0 || S_ISDIR(about.st_mode))
			continue;
		if (!S_ISREG(about.st_mode) || about.st_nlink > 1)
			return false;
	}
	return true;
}

void index_guard_begin(struct index_guard *guard)
{
	guard->steps_left = STEPS_FREE + STEPS_A_BYTE * guard->file_bytes;
}

void index_guard_set(sqlite3 *db, struct index_guard *guard, const char *path)
{
	static const int limits[][2] = {
		{ SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX },
		{ SQLITE_LIMIT_SQL_LENGTH, 4096 },
		{ SQLITE_LIMIT_COLUMN, 32 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 16 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 1 },
		{ SQLITE_LIMIT_VDBE_OP, 4096 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};
	struct stat about;

	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		sqlite3_limit(db, limits[i][0], limits[i][1]);
	guard->file_bytes = stat(path, &about) == 0 ? about.st_size : 0;
	index_guard_begin(guard);
	sqlite3_progress_handler(db, STEPS_AT_ONCE, index_guard_count, guard);
	sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL);
}

static bool index_guard_equals(sqlite3_stmt *row, int column, const char *text)
{
	const char *found = (const char *)sqlite3_column_text(row, column);

	return found && strcmp(found, text) == 0;
}

static bool index_guard_is_ours(sqlite3_stmt *row, const struct index_guard_table *table)
{
	return index_guard_equals(row, 0, "table") && index_guard_equals(row, 1, table->name) &&
	       index_guard_equals(row, 2, table->name) && index_guard_equals(row, 3, table->sql);
}

static bool index_guard_is_outlines(size_t table)
{
	return strcmp(index_guard_tables[table].name, "outlines") == 0;
}

/* Returns the number of the next table that the schema must have. */
static size_t index_guard_next(size_t table, bool lacks_outlines)
{
	table += lacks_outlines && table < ARRAY_SIZE(index_guard_tables) &&
		 index_guard_is_outlines(table);
	return table;
}

/*
 * Counts the entries of the schema. *ret_ours is the number of our tables that equal the first
 * entries.
 */
static int index_guard_count_ours(sqlite3 *db, struct index_guard *guard, bool lacks_outlines,
				  size_t *ret_ours, size_t *ret_all)
{
	sqlite3_stmt *rows = NULL;
	size_t ours = 0, all = 0, next = index_guard_next(0, lacks_outlines);
	int code;

	index_guard_begin(guard);
	code = sqlite3_prepare_v2(
		db, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name", -1, &rows,
		NULL);
	if (code != SQLITE_OK)
		return code;
	while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
		if (ours == all && next < ARRAY_SIZE(index_guard_tables) &&
		    index_guard_is_ours(rows, &index_guard_tables[next])) {
			next = index_guard_next(next + 1, lacks_outlines);
			ours++;
		}
		all++;
	}
	sqlite3_finalize(rows);
	*ret_ours = ours;
	*ret_all = all;
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

int index_guard_check(sqlite3 *db, struct index_guard *guard, bool lacks_outlines)
{
	size_t ours, all, wanted = ARRAY_SIZE(index_guard_tables) - lacks_outlines;
	int code = index_guard_count_ours(db, guard, lacks_outlines, &ours, &all);

	if (code != SQLITE_OK)
		return code;
	return ours == all && ours == wanted ? SQLITE_OK : SQLITE_MISMATCH;
}

int index_guard_make_tables(sqlite3 *db, struct index_guard *guard, bool lacks_outlines)
{
	size_t ours, all;
	int code = index_guard_count_ours(db, guard, lacks_outlines, &ours, &all);

	for (size_t i = 0; code == SQLITE_OK && i < ARRAY_SIZE(index_guard_tables); i++)
		if (!all || (lacks_outlines && index_guard_is_outlines(i)))
			code = sqlite3_exec(db, index_guard_tables[i].sql, NULL, NULL, NULL);
	return code;
}
