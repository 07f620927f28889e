// SPDX-License-Identifier: GPL-2.0-only
#include "store/index.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/bytes.h"

/* How long a person waits for another process's transaction, which takes milliseconds. */
#define BUSY_MS 10000

/* In the file's user_version. */
#define SCHEMA_VERSION 1

/*
 * Times are kept as signed 64-bit nanoseconds, which last until 2262. `longest` bounds how far before a window the segments
 * that reach into it can begin, so that a look-up reads a range of the index and not all of it.
 */
static const char schema[] =
	"CREATE TABLE IF NOT EXISTS segments ("
	" name TEXT PRIMARY KEY, boot_id TEXT NOT NULL, sequence INTEGER NOT NULL,"
	" begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, samples INTEGER NOT NULL,"
	" lost INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS segments_by_begin ON segments (begin_ns, end_ns);"
	"CREATE INDEX IF NOT EXISTS segments_by_end ON segments (end_ns);"
	"CREATE INDEX IF NOT EXISTS segments_by_length ON segments (end_ns - begin_ns);";

struct index {
	sqlite3 *db;
	sqlite3_stmt *knows;
	char *wal; /* where the index was opened without its WAL: that file, which must stay empty */
};

static int index_error(struct index *index, int code, struct error *error)
{
	int number = code == SQLITE_FULL			       ? -ENOSPC
		     : code == SQLITE_NOMEM			       ? -ENOMEM
		     : code == SQLITE_CANTOPEN			       ? -ENOENT
		     : code == SQLITE_BUSY			       ? -EBUSY
		     : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EBADMSG
		     : code == SQLITE_ERROR ? -EBADMSG /* "no such table" */
					    : -EIO;

	return error_set(error, number, "index.sqlite: %s",
		index->db ? sqlite3_errmsg(index->db) : sqlite3_errstr(code));
}

struct index *index_close(struct index *index)
{
	if (!index)
		return NULL;
	sqlite3_finalize(index->knows);
	sqlite3_close(index->db);
	free(index->wal);
	free(index);
	return NULL;
}

void index_discard(const char *path)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	char file[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (snprintf(file, sizeof(file), "%s%s", path, suffixes[i]) < (int)sizeof(file))
			unlink(file);
}

/* One number that a statement gives. */
static int index_number(struct index *index, const char *sql, int64_t *ret, struct error *error)
{
	sqlite3_stmt *ask;
	int code = sqlite3_prepare_v2(index->db, sql, -1, &ask, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(ask);
	if (code == SQLITE_ROW)
		*ret = sqlite3_column_int64(ask, 0);
	sqlite3_finalize(ask);
	return code == SQLITE_ROW ? 0 : index_error(index, code, error);
}

/* A file that was only just made has no tables, and no version yet. */
static int index_check_version(struct index *index, struct error *error)
{
	int64_t version = 0, tables = 0;
	int r = index_number(index, "PRAGMA user_version", &version, error);

	if (r == 0)
		r = index_number(index, "SELECT count(*) FROM sqlite_schema", &tables, error);
	if (r < 0)
		return r;
	if (version > SCHEMA_VERSION)
		return error_set(error, -EPROTONOSUPPORT,
			"index.sqlite: version %lld is newer than this perftape (%d)",
			(long long)version, SCHEMA_VERSION);
	if (version < SCHEMA_VERSION && tables)
		return error_set(error, -ESTALE,
			"index.sqlite: version %lld is of an older perftape", (long long)version);
	return 0;
}

static int index_prepare_writing(struct index *index, struct error *error)
{
	char version[64];
	int code = sqlite3_exec(index->db,
		"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;", NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_exec(index->db, schema, NULL, NULL, NULL);
	snprintf(version, sizeof(version), "PRAGMA user_version = %d", SCHEMA_VERSION);
	if (code == SQLITE_OK)
		code = sqlite3_exec(index->db, version, NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : index_error(index, code, error);
}

/* A path as SQLite's URI form wants it, or NULL when memory is out. */
static char *uri_of(const char *path, const char *options)
{
	struct buffer text = { 0 };

	buffer_text(&text, "file:");
	for (; *path; path++)
		if (strchr("?#%", *path))
			buffer_printf(&text, "%%%02x", (unsigned char)*path);
		else
			buffer_u8(&text, *path);
	buffer_text(&text, options);
	buffer_u8(&text, 0);
	if (buffer_failed(&text))
		buffer_done(&text);
	return (char *)text.data;
}

/* Opens and reads a page: only then SQLite notices that it cannot use WAL there. */
static int index_try(struct index *index, const char *path, int flags, const char *options)
{
	_cleanup_free_ char *uri = uri_of(path, options);
	int code;

	if (!uri)
		return SQLITE_NOMEM;
	sqlite3_close(index->db);
	index->db = NULL;
	code = sqlite3_open_v2(uri, &index->db, flags | SQLITE_OPEN_URI, NULL);
	if (code != SQLITE_OK)
		return code;
	sqlite3_busy_timeout(index->db, BUSY_MS);
	return sqlite3_exec(index->db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
}

static int index_open_writing(struct index *index, const char *path, struct error *error)
{
	int code = index_try(index, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
	int r = code == SQLITE_OK ? index_check_version(index, error)
				  : index_error(index, code, error);

	return r < 0 ? r : index_prepare_writing(index, error);
}

/* Without its WAL the index says what was so once. */
static int index_check_wal(const struct index *index, struct error *error)
{
	struct stat about;

	if (index->wal && stat(index->wal, &about) == 0 && about.st_size)
		return error_set(error, -ESTALE, "%s: cannot be used here", index->wal);
	return 0;
}

static int index_open_reading(struct index *index, const char *path, struct error *error)
{
	int code = index_try(index, path, SQLITE_OPEN_READONLY, ""), r;

	/* no right to make the -shm file beside it */
	if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) {
		if (asprintf(&index->wal, "%s-wal", path) < 0) {
			index->wal = NULL;
			return -ENOMEM;
		}
		r = index_check_wal(index, error);
		if (r < 0)
			return r;
		code = index_try(index, path, SQLITE_OPEN_READONLY, "?immutable=1");
	}
	return code == SQLITE_OK ? index_check_version(index, error)
				 : index_error(index, code, error);
}

int index_open(const char *path, bool writing, struct index **ret_index, struct error *error)
{
	_cleanup_(cleanup_index) struct index *index = calloc(1, sizeof(*index));
	int r;

	if (!index)
		return -ENOMEM;
	r = writing ? index_open_writing(index, path, error)
		    : index_open_reading(index, path, error);
	if (r == 0)
		*ret_index = take_ptr(index);
	return r;
}

static int index_statement(
	struct index *index, const char *sql, sqlite3_stmt **ret_statement, struct error *error)
{
	int r = index_check_wal(index, error), code;

	if (r < 0)
		return r;
	code = sqlite3_prepare_v2(index->db, sql, -1, ret_statement, NULL);
	return code == SQLITE_OK ? 0 : index_error(index, code, error);
}

/* Runs a statement that gives no row, and forgets it. */
static int index_finish(struct index *index, sqlite3_stmt *statement, struct error *error)
{
	int code = sqlite3_step(statement);
	int r = code == SQLITE_DONE ? 0 : index_error(index, code, error);

	sqlite3_finalize(statement);
	return r;
}

int index_put(struct index *index, const struct store_segment *segment, struct error *error)
{
	sqlite3_stmt *put;
	int r = index_statement(
		index, "INSERT OR REPLACE INTO segments VALUES (?,?,?,?,?,?,?,?)", &put, error);

	if (r < 0)
		return r;
	sqlite3_bind_text(put, 1, segment->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(put, 2, segment->boot_id, -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 3, segment->sequence);
	sqlite3_bind_int64(put, 4, segment->begin_ns);
	sqlite3_bind_int64(put, 5, segment->end_ns);
	sqlite3_bind_int64(put, 6, segment->samples);
	sqlite3_bind_int64(put, 7, segment->lost);
	sqlite3_bind_int64(put, 8, segment->bytes);
	return index_finish(index, put, error);
}

int index_remove(struct index *index, const char *name, struct error *error)
{
	sqlite3_stmt *remove;
	int r = index_statement(index, "DELETE FROM segments WHERE name = ?", &remove, error);

	if (r < 0)
		return r;
	sqlite3_bind_text(remove, 1, name, -1, SQLITE_STATIC);
	return index_finish(index, remove, error);
}

int index_knows(struct index *index, const char *name, struct error *error)
{
	int code, r = 0;

	if (!index->knows)
		r = index_statement(
			index, "SELECT 1 FROM segments WHERE name = ?", &index->knows, error);
	if (r < 0)
		return r;
	sqlite3_bind_text(index->knows, 1, name, -1, SQLITE_STATIC);
	code = sqlite3_step(index->knows);
	sqlite3_reset(index->knows);
	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE ? 0 : index_error(index, code, error);
}

/* A name with a slash would lead out of the folder: SQLite has no page checksums, so a row is not believed. */
static bool read_row(sqlite3_stmt *row, struct store_segment *ret)
{
	const char *name = (const char *)sqlite3_column_text(row, 0);
	const char *boot_id = (const char *)sqlite3_column_text(row, 1);

	if (!name || !boot_id || strchr(name, '/') || strlen(name) >= sizeof(ret->name) ||
		strlen(boot_id) >= sizeof(ret->boot_id))
		return false;
	*ret = (struct store_segment){
		.sequence = sqlite3_column_int64(row, 2),
		.begin_ns = sqlite3_column_int64(row, 3),
		.end_ns = sqlite3_column_int64(row, 4),
		.samples = sqlite3_column_int64(row, 5),
		.lost = sqlite3_column_int64(row, 6),
		.bytes = sqlite3_column_int64(row, 7),
	};
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	snprintf(ret->boot_id, sizeof(ret->boot_id), "%s", boot_id);
	return true;
}

static int64_t bounded(uint64_t ns)
{
	return MIN(ns, (uint64_t)INT64_MAX);
}

static void bind_window(sqlite3_stmt *statement, uint64_t from_ns, uint64_t to_ns)
{
	sqlite3_bind_int64(statement, 1, bounded(from_ns));
	sqlite3_bind_int64(statement, 2, bounded(to_ns));
}

int index_find(struct index *index, uint64_t from_ns, uint64_t to_ns,
	struct store_segments *segments, struct error *error)
{
	sqlite3_stmt *find;
	int code, r;

	r = index_statement(index,
		"SELECT * FROM segments WHERE begin_ns < ?2 AND end_ns > ?1 AND begin_ns >= ?1 -"
		" (SELECT ifnull(max(end_ns - begin_ns), 0) FROM segments)"
		" ORDER BY begin_ns, boot_id, sequence",
		&find, error);
	if (r < 0)
		return r;
	bind_window(find, from_ns, to_ns);
	while ((code = sqlite3_step(find)) == SQLITE_ROW) {
		struct store_segment segment;

		if (!read_row(find, &segment)) {
			r = error_set(error, -EBADMSG, "index.sqlite: damaged row");
			break;
		}
		r = array_push(&segments->list, segment);
		if (r < 0)
			break;
	}
	if (r == 0 && code != SQLITE_DONE)
		r = index_error(index, code, error);
	sqlite3_finalize(find);
	return r;
}

int index_near(struct index *index, uint64_t from_ns, uint64_t to_ns, uint64_t *ret_before_ns,
	uint64_t *ret_after_ns, struct error *error)
{
	sqlite3_stmt *near;
	int code, r;

	r = index_statement(index,
		"SELECT (SELECT max(end_ns) FROM segments WHERE end_ns <= ?1),"
		" (SELECT min(begin_ns) FROM segments WHERE begin_ns >= ?2)",
		&near, error);
	if (r < 0)
		return r;
	bind_window(near, from_ns, to_ns);
	code = sqlite3_step(near);
	if (code == SQLITE_ROW) {
		*ret_before_ns = sqlite3_column_int64(near, 0);
		*ret_after_ns = sqlite3_column_int64(near, 1);
	} else {
		r = index_error(index, code, error);
	}
	sqlite3_finalize(near);
	return r;
}
