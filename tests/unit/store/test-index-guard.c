// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include "store/disk/index.h"
#include "tests/tapes.h"

/* Statements of somebody who can write to the store's folder. */
static const struct {
	const char *what, *sql;
} attacks[] = {
	{ "a view that never ends",
	  "DROP TABLE segments; CREATE VIEW segments AS WITH RECURSIVE n(i) AS "
	  "(SELECT 1 UNION ALL SELECT i + 1 FROM n) "
	  "SELECT i, '', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM n" },
	{ "another column", "ALTER TABLE segments ADD COLUMN more TEXT DEFAULT 'x'" },
	{ "a generated column",
	  "DROP TABLE busy; CREATE TABLE busy (segment TEXT PRIMARY KEY, "
	  "cpus BLOB AS (zeroblob(1000000000)), checksum INTEGER NOT NULL) WITHOUT ROWID" },
	{ "a trigger",
	  "CREATE TRIGGER forge AFTER INSERT ON segments BEGIN DELETE FROM incidents; END" },
	{ "an index with a function", "CREATE INDEX slow ON segments (hex(zeroblob(samples)))" },
	{ "one more table", "CREATE TABLE more (a)" },
	{ "a missing table", "DROP TABLE busy" },
};

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;

	CHECK_EQ(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_EQ(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Makes an index, changes it, and opens it again. Returns what index_open() returned. */
static int open_changed(const char *folder, const char *sql, bool writing)
{
	struct index *index;
	struct error error = { 0 };
	char path[128];
	int r;

	snprintf(path, sizeof(path), "%s/index.sqlite", folder);
	index_discard(path);
	CHECK_EQ(index_open(path, true, &index, NULL), 0);
	index_close(index);
	run_sql(path, sql);
	r = index_open(path, writing, &index, &error);
	if (r == 0)
		index_close(index);
	return r;
}

static void test_attacks(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;

	tapes_store_init(&folder);
	CHECK_EQ(open_changed(folder.path, "SELECT 1", false), 0);
	CHECK_EQ(open_changed(folder.path, "SELECT 1", true), 0);
	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++)
		for (int writing = 0; writing < 2; writing++)
			if (open_changed(folder.path, attacks[i].sql, writing) != -EBADMSG)
				CHECK_FAIL("%s: the index is opened", attacks[i].what);
}

/* A pipe would block a reader for ever, and a link would lead to a file in another place. */
static void test_no_file(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	struct index *index;
	char path[128], other[128];

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/index.sqlite", folder.path);
	snprintf(other, sizeof(other), "%s/other.sqlite", folder.path);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(index_open(path, false, &index, NULL), -EBADMSG);
	CHECK_EQ(index_open(path, true, &index, NULL), -EBADMSG);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(index_open(other, true, &index, NULL), 0);
	index_close(index);
	CHECK_EQ(symlink("other.sqlite", path), 0);
	CHECK_EQ(index_open(path, false, &index, NULL), -EBADMSG);
	CHECK_EQ(index_open(path, true, &index, NULL), -EBADMSG);
}

/* Even a reader writes to the file -shm, which may be another name of a file of ours. */
static void test_other_names(void)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
	_cleanup_(tapes_store_done) struct tapes_store folder;
	struct index *index;
	char path[128], other[128], file[160];

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/index.sqlite", folder.path);
	snprintf(other, sizeof(other), "%s/other", folder.path);
	CHECK_EQ(index_open(path, true, &index, NULL), 0);
	index_close(index);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		snprintf(file, sizeof(file), "%s%s", path, suffixes[i]);
		unlink(other);
		if (*suffixes[i]) {
			run_sql(other, "SELECT 1");
			CHECK_EQ(access(other, F_OK), 0);
			unlink(file);
			CHECK_EQ(link(other, file), 0);
		} else {
			CHECK_EQ(link(file, other), 0);
		}
		CHECK_EQ(index_open(path, false, &index, NULL), -EBADMSG);
		unlink(*suffixes[i] ? file : other);
		CHECK_EQ(index_open(path, false, &index, NULL), 0);
		index_close(index);
	}
}

static int see_row(void *context, const struct store_segment *segment)
{
	return 0;
}

/* The tables are perftape's, but somebody else wrote the rows: they lack checksums. */
static void test_rows(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	struct index *index;
	char path[128];

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/index.sqlite", folder.path);
	CHECK_EQ(index_open(path, true, &index, NULL), 0);
	index_close(index);
	run_sql(path, "INSERT INTO segments VALUES ('../x', '', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)");
	CHECK_EQ(index_open(path, false, &index, NULL), 0);
	CHECK_EQ(index_segments(index, see_row, NULL, NULL), -EBADMSG);
	index_close(index);
}

CHECK_MAIN({ "an index with other tables is not opened", test_attacks },
	   { "a pipe or a link is no index", test_no_file },
	   { "nor is a file with another name", test_other_names },
	   { "rows of somebody else are not believed", test_rows })
