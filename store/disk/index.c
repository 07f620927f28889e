// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/index-internal.h"

#include <limits.h>
#include <sys/stat.h>

#include "base/file.h"

/* Versions before 3.31 do not know this flag. */
#ifndef SQLITE_OPEN_NOFOLLOW
#define SQLITE_OPEN_NOFOLLOW 0
#endif

/* The time to wait for a transaction of another process, which usually takes milliseconds. */
#define BUSY_MS 10000

/* The version of the tables, in the file's user_version. */
#define SCHEMA_VERSION 5
/*
 * The version without the table of outlines. Readers use it as it is. A writer adds the table, and
 * no rows: a recorder that read every segment first would not record meanwhile.
 */
#define SCHEMA_WITHOUT_OUTLINES 4

/*
 * SQLite moves the WAL into the file after 16 pages, which is a few segments, and then truncates it
 * to 64 KB. By default, the WAL would grow to 4 MB, which is much beside a small store.
 */
#define WAL_PRAGMAS "PRAGMA wal_autocheckpoint = 16; PRAGMA journal_size_limit = 65536;"

/*
 * Returns whether the disk is full. SQLite reports a full disk as an I/O error when it extends its
 * -shm file.
 */
static bool index_is_full(struct index *index, int code)
{
	if (code != SQLITE_IOERR && code != SQLITE_CANTOPEN)
		return code == SQLITE_FULL;
	return index->db && (sqlite3_extended_errcode(index->db) == SQLITE_IOERR_SHMSIZE ||
			     sqlite3_system_errno(index->db) == ENOSPC);
}

int index_error(struct index *index, int code, struct error *error)
{
	int number = index_is_full(index, code)			       ? -ENOSPC
		     : code == SQLITE_NOMEM			       ? -ENOMEM
		     : code == SQLITE_CANTOPEN			       ? -ENOENT
		     : code == SQLITE_BUSY			       ? -EBUSY
		     : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EBADMSG
		     /* a statement beyond the limit of work, or a value that is too long */
		     : code == SQLITE_INTERRUPT || code == SQLITE_TOOBIG ? -EBADMSG
		     /* SQLite reports a table that does not exist in this way */
		     : code == SQLITE_ERROR ? -EBADMSG
					    : -EIO;

	if (number == -ENOSPC)
		return error_set(error, number, "index.sqlite: the disk is full");
	return error_set(error, number, "index.sqlite: %s",
			 index->db ? sqlite3_errmsg(index->db) : sqlite3_errstr(code));
}

struct index *index_close(struct index *index)
{
	if (!index)
		return NULL;
	for (int i = 0; i < INDEX_TABLES; i++)
		sqlite3_finalize(index->ask[i]);
	sqlite3_close(index->db);
	free(index->wal);
	free(index->path);
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

/* Sets *ret to the number that a statement selects. */
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

/*
 * Checks that the tables are ours. If not, readers use the segments, and a writer makes a new
 * index.
 */
static int index_check_tables(struct index *index, struct error *error)
{
	int code = index_guard_check(index->db, &index->guard, index->lacks_outlines);

	if (code == SQLITE_MISMATCH)
		return error_set(error, -EBADMSG, "index.sqlite: its tables are not perftape's");
	return code == SQLITE_OK ? 0 : index_error(index, code, error);
}

/* Checks the version and the tables. A new file does not have tables or a version yet. */
static int index_check_version(struct index *index, struct error *error)
{
	int64_t version = 0, tables = 0;
	int r = index_number(index, "PRAGMA user_version", &version, error);

	if (r < 0)
		return r;
	r = index_number(index, "SELECT count(*) FROM sqlite_schema", &tables, error);
	if (r < 0)
		return r;
	if (version > SCHEMA_VERSION)
		return error_set(
			error, -EPROTONOSUPPORT,
			"index.sqlite: version %lld is from a newer perftape; delete the index",
			(long long)version);
	index->lacks_outlines = tables && version == SCHEMA_WITHOUT_OUTLINES;
	if (version < SCHEMA_VERSION && tables && !index->lacks_outlines)
		return error_set(error, -ESTALE,
				 "index.sqlite: version %lld is from an older perftape",
				 (long long)version);
	return tables ? index_check_tables(index, error) : 0;
}

/*
 * Makes the missing tables. Between both steps, readers find an index that fits no version, and use
 * the segments.
 */
static int index_prepare_writing(struct index *index, struct error *error)
{
	char version[64];
	int code = sqlite3_exec(
		index->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" WAL_PRAGMAS,
		NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code = index_guard_make_tables(index->db, &index->guard, index->lacks_outlines);
	snprintf(version, sizeof(version), "PRAGMA user_version = %d", SCHEMA_VERSION);
	if (code == SQLITE_OK)
		code = sqlite3_exec(index->db, version, NULL, NULL, NULL);
	if (code != SQLITE_OK)
		return index_error(index, code, error);
	index->lacks_outlines = false;
	return 0;
}

/* Returns a path in SQLite's URI form, or NULL without memory. */
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

/*
 * Returns the path without links, or NULL without memory. systemd makes the folder of a unit's
 * store a link, and SQLITE_OPEN_NOFOLLOW refuses links in the whole path.
 */
static char *index_real_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = slash ? strndup(path, MAX(slash - path, 1)) : strdup(".");
	_cleanup_free_ char *real = folder ? realpath(folder, NULL) : NULL;
	char *joined;

	if (!folder)
		return NULL;
	if (asprintf(&joined, "%s/%s", real ? real : folder, slash ? slash + 1 : path) < 0)
		return NULL;
	return joined;
}

/* Opens the file and reads a page, because only the read shows whether SQLite can use WAL there. */
static int index_try(struct index *index, const char *path, int flags, const char *options)
{
	_cleanup_free_ char *real = index_real_path(path);
	_cleanup_free_ char *uri = real ? uri_of(real, options) : NULL;
	int code;

	flags |= SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW;
	if (!uri)
		return SQLITE_NOMEM;
	sqlite3_close(index->db);
	index->db = NULL;
	code = index_guard_may_open(path) ? sqlite3_open_v2(uri, &index->db, flags, NULL)
					  : SQLITE_NOTADB;
	if (code != SQLITE_OK)
		return code;
	index_guard_set(index->db, &index->guard, path);
	sqlite3_busy_timeout(index->db, BUSY_MS);
	return sqlite3_exec(index->db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
}

static int index_open_writing(struct index *index, const char *path, struct error *error)
{
	int code = index_try(index, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
	int r = code == SQLITE_OK ? index_check_version(index, error)
				  : index_error(index, code, error);
	struct stat about;

	if (r < 0)
		return r;
	r = index_prepare_writing(index, error);
	if (r < 0)
		return r;
	index->path = strdup(path);
	if (!index->path)
		return -ENOMEM;
	if (stat(path, &about) < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	index->device = about.st_dev;
	index->inode = about.st_ino;
	return 0;
}

bool index_is_there(const struct index *index)
{
	struct stat about;

	return stat(index->path, &about) == 0 && about.st_dev == index->device &&
	       about.st_ino == index->inode;
}

/* Fails if the WAL has content, because without it the index is out of date. */
static int index_check_wal(const struct index *index, struct error *error)
{
	struct stat about;

	if (!index->wal || stat(index->wal, &about) < 0 || !about.st_size)
		return 0;
	return error_set(error, -ESTALE,
			 "%s: its changes can only be read with the right to write there",
			 index->wal);
}

static int index_open_reading(struct index *index, const char *path, struct error *error)
{
	int code = index_try(index, path, SQLITE_OPEN_READONLY, ""), r;

	/* SQLite cannot create its -shm file beside the index, so read without the WAL */
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
	bool was_there = file_exists(path);
	int r;

	if (!index)
		return -ENOMEM;
	r = writing ? index_open_writing(index, path, error)
		    : index_open_reading(index, path, error);
	if (r < 0) {
		/* remove the file that we created: it lacks tables */
		if (writing && !was_there)
			index_discard(path);
		return r;
	}
	*ret_index = take_ptr(index);
	return 0;
}

int index_statement(struct index *index, const char *sql, sqlite3_stmt **ret_statement,
		    struct error *error)
{
	int r = index_check_wal(index, error), code;

	if (r < 0)
		return r;
	index_guard_begin(&index->guard);
	code = sqlite3_prepare_v2(index->db, sql, -1, ret_statement, NULL);
	return code == SQLITE_OK ? 0 : index_error(index, code, error);
}

int index_run(struct index *index, const char *sql, struct error *error)
{
	int code = sqlite3_exec(index->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : index_error(index, code, error);
}

int index_begin(struct index *index, struct error *error)
{
	return index_run(index, "BEGIN IMMEDIATE", error);
}

int index_commit(struct index *index, struct error *error)
{
	int r = index_run(index, "COMMIT", error);

	if (r < 0)
		index_abort(index);
	return r;
}

void index_abort(struct index *index)
{
	if (!sqlite3_get_autocommit(index->db))
		sqlite3_exec(index->db, "ROLLBACK", NULL, NULL, NULL);
}
