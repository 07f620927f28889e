// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/index.h"

#include <limits.h>
#include <sys/stat.h>

#include "store/disk/index-columns.h"
#include "store/disk/index-guard.h"

/* How long to wait for another process's transaction, which takes milliseconds. */
#define BUSY_MS 10000

/* The version of the tables, in the file's user_version. */
#define SCHEMA_VERSION 4

/*
 * SQLite moves the WAL into the file after 16 pages, which is a few segments, and then truncates it
 * to 64 KB. By default it would grow to 4 MB, which is much beside a small store.
 */
#define WAL_PRAGMAS "PRAGMA wal_autocheckpoint = 16; PRAGMA journal_size_limit = 65536;"

struct index {
	sqlite3 *db;
	struct index_guard guard;
	/* Reads busy CPUs, between index_begin_reading() and index_end_reading(). */
	sqlite3_stmt *ask_busy;
	/* The path of the WAL if the index was opened without it. That file must stay empty. */
	char *wal;
	/* The path and the identity of the file, if the index is open for writing. */
	char *path;
	dev_t device;
	ino_t inode;
};

/*
 * Returns whether the disk is full. SQLite reports that as an I/O error when it extends its -shm
 * file.
 */
static bool index_is_full(struct index *index, int code)
{
	if (code != SQLITE_IOERR && code != SQLITE_CANTOPEN)
		return code == SQLITE_FULL;
	return index->db && (sqlite3_extended_errcode(index->db) == SQLITE_IOERR_SHMSIZE ||
			     sqlite3_system_errno(index->db) == ENOSPC);
}

static int index_error(struct index *index, int code, struct error *error)
{
	int number = index_is_full(index, code)			       ? -ENOSPC
		     : code == SQLITE_NOMEM			       ? -ENOMEM
		     : code == SQLITE_CANTOPEN			       ? -ENOENT
		     : code == SQLITE_BUSY			       ? -EBUSY
		     : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EBADMSG
		     /* more work than an index can take, or a value that is too long */
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
	sqlite3_finalize(index->ask_busy);
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

/* Returns the number that a statement selects. */
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

/* Checks that the tables are ours. On doubt the segments answer, or the writer makes a new one. */
static int index_check_tables(struct index *index, struct error *error)
{
	int code = index_guard_check(index->db, &index->guard);

	if (code == SQLITE_MISMATCH)
		return error_set(error, -EBADMSG, "index.sqlite: its tables are not perftape's");
	return code == SQLITE_OK ? 0 : index_error(index, code, error);
}

/* Checks the version and the tables. A new file has no tables and no version yet. */
static int index_check_version(struct index *index, struct error *error)
{
	int64_t version = 0, tables = 0;
	int r = index_number(index, "PRAGMA user_version", &version, error);

	if (r == 0)
		r = index_number(index, "SELECT count(*) FROM sqlite_schema", &tables, error);
	if (r < 0)
		return r;
	if (version > SCHEMA_VERSION)
		return error_set(
			error, -EPROTONOSUPPORT,
			"index.sqlite: version %lld is from a newer perftape; delete the index",
			(long long)version);
	if (version < SCHEMA_VERSION && tables)
		return error_set(error, -ESTALE,
				 "index.sqlite: version %lld is from an older perftape",
				 (long long)version);
	return tables ? index_check_tables(index, error) : 0;
}

static int index_prepare_writing(struct index *index, struct error *error)
{
	char version[64];
	int code = sqlite3_exec(
		index->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" WAL_PRAGMAS,
		NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code = index_guard_make_tables(index->db, &index->guard);
	snprintf(version, sizeof(version), "PRAGMA user_version = %d", SCHEMA_VERSION);
	if (code == SQLITE_OK)
		code = sqlite3_exec(index->db, version, NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : index_error(index, code, error);
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

/* Opens the file and reads a page, because only the read shows whether SQLite can use WAL there. */
static int index_try(struct index *index, const char *path, int flags, const char *options)
{
	_cleanup_free_ char *uri = uri_of(path, options);
	int code;

	if (!uri)
		return SQLITE_NOMEM;
	sqlite3_close(index->db);
	index->db = NULL;
	code = index_guard_may_open(path)
		       ? sqlite3_open_v2(uri, &index->db, flags | SQLITE_OPEN_URI, NULL)
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

	if (r == 0)
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
	bool was_there = access(path, F_OK) == 0;
	int r;

	if (!index)
		return -ENOMEM;
	r = writing ? index_open_writing(index, path, error)
		    : index_open_reading(index, path, error);
	if (r == 0)
		*ret_index = take_ptr(index);
	else if (writing && !was_there)
		/* remove the file that we created: it lacks tables */
		index_discard(path);
	return r;
}

static int index_statement(struct index *index, const char *sql, sqlite3_stmt **ret_statement,
			   struct error *error)
{
	int r = index_check_wal(index, error), code;

	if (r < 0)
		return r;
	index_guard_begin(&index->guard);
	code = sqlite3_prepare_v2(index->db, sql, -1, ret_statement, NULL);
	return code == SQLITE_OK ? 0 : index_error(index, code, error);
}

/* Runs a statement without result rows, and finalizes it. */
static int index_finish(struct index *index, sqlite3_stmt *statement, struct error *error)
{
	int code = sqlite3_step(statement);
	int r = code == SQLITE_DONE ? 0 : index_error(index, code, error);

	sqlite3_finalize(statement);
	return r;
}

static int index_run(struct index *index, const char *sql, struct error *error)
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

static int index_put_segment(struct index *index, const struct store_segment *segment,
			     struct error *error)
{
	uint64_t numbers[COLUMNS_OF_SEGMENT];
	sqlite3_stmt *put;
	int r = index_statement(index,
				"INSERT OR REPLACE INTO segments VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
				&put, error);

	if (r < 0)
		return r;
	columns_of_segment(segment, numbers);
	sqlite3_bind_text(put, 1, segment->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(put, 2, segment->boot_id, -1, SQLITE_STATIC);
	for (int i = 0; i < COLUMNS_OF_SEGMENT; i++)
		sqlite3_bind_int64(put, 3 + i, numbers[i]);
	sqlite3_bind_int64(put, 3 + COLUMNS_OF_SEGMENT, columns_segment_crc(segment));
	return index_finish(index, put, error);
}

static int index_put_incident(struct index *index, const struct store_incident *incident,
			      uint64_t number, struct error *error)
{
	uint64_t numbers[COLUMNS_OF_INCIDENT];
	const char *texts[COLUMNS_INCIDENT_TEXTS];
	sqlite3_stmt *put;
	int column = 3;
	int r = index_statement(index, "INSERT INTO incidents VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
				&put, error);

	if (r < 0)
		return r;
	columns_of_incident(incident, numbers);
	columns_incident_texts(incident, texts);
	sqlite3_bind_text(put, 1, incident->segment, -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 2, number);
	for (int i = 0; i < COLUMNS_OF_INCIDENT; i++)
		sqlite3_bind_int64(put, column++, numbers[i]);
	for (int i = 0; i < COLUMNS_INCIDENT_TEXTS; i++)
		sqlite3_bind_text(put, column++, texts[i], -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, column, columns_incident_crc(incident, number));
	return index_finish(index, put, error);
}

static int put_busy(struct index *index, const char *segment, const struct buffer *busy,
		    struct error *error)
{
	sqlite3_stmt *put;
	int r = index_statement(index, "INSERT INTO busy VALUES (?,?,?)", &put, error);

	if (r < 0)
		return r;
	sqlite3_bind_text(put, 1, segment, -1, SQLITE_STATIC);
	sqlite3_bind_blob64(put, 2, busy->data, busy->size, SQLITE_STATIC);
	sqlite3_bind_int64(put, 3, columns_busy_crc(segment, busy->data, busy->size));
	return index_finish(index, put, error);
}

static int remove_rows(struct index *index, const char *sql, const char *name, struct error *error)
{
	sqlite3_stmt *remove;
	int r = index_statement(index, sql, &remove, error);

	if (r < 0)
		return r;
	sqlite3_bind_text(remove, 1, name, -1, SQLITE_STATIC);
	return index_finish(index, remove, error);
}

/* Ends the transaction of a single change, unless the change is part of a larger transaction. */
static int index_end_own(struct index *index, bool own, int r, struct error *error)
{
	if (!own)
		return r;
	if (r == 0)
		return index_commit(index, error);
	index_abort(index);
	return r;
}

int index_remove(struct index *index, const char *name, struct error *error)
{
	bool own = sqlite3_get_autocommit(index->db);
	int r = own ? index_begin(index, error) : 0;

	if (r == 0)
		r = remove_rows(index, "DELETE FROM segments WHERE name = ?", name, error);
	if (r == 0)
		r = remove_rows(index, "DELETE FROM incidents WHERE segment = ?", name, error);
	if (r == 0)
		r = remove_rows(index, "DELETE FROM busy WHERE segment = ?", name, error);
	return index_end_own(index, own, r, error);
}

int index_put(struct index *index, const struct store_segment *segment,
	      const struct incident_rows *incidents, const struct buffer *busy, struct error *error)
{
	bool own = sqlite3_get_autocommit(index->db);
	int r = own ? index_begin(index, error) : 0;

	if (r == 0)
		r = remove_rows(index, "DELETE FROM incidents WHERE segment = ?", segment->name,
				error);
	if (r == 0)
		r = remove_rows(index, "DELETE FROM busy WHERE segment = ?", segment->name, error);
	if (r == 0)
		r = index_put_segment(index, segment, error);
	if (r == 0 && busy->size)
		r = put_busy(index, segment->name, busy, error);
	for (size_t i = 0; r == 0 && i < incidents->rows.count; i++) {
		struct store_incident incident = incident_rows_at(incidents, i);

		r = index_put_incident(index, &incident, i, error);
	}
	return index_end_own(index, own, r, error);
}

static const char *index_column(sqlite3_stmt *row, int i)
{
	const char *text = (const char *)sqlite3_column_text(row, i);

	return text ? text : "";
}

/* Rejects names with a slash, which would lead out of the folder. */
static bool index_read_segment(sqlite3_stmt *row, struct store_segment *ret)
{
	const char *name = index_column(row, 0), *boot_id = index_column(row, 1);
	size_t name_size = strlen(name), boot_size = strlen(boot_id);

	if (name_size >= sizeof(ret->name) || boot_size >= sizeof(ret->boot_id) ||
	    strchr(name, '/'))
		return false;
	*ret = (struct store_segment){
		.sequence = sqlite3_column_int64(row, 2),
		.begin_ns = sqlite3_column_int64(row, 3),
		.end_ns = sqlite3_column_int64(row, 4),
		.perf_begin_ns = sqlite3_column_int64(row, 5),
		.perf_end_ns = sqlite3_column_int64(row, 6),
		.samples = sqlite3_column_int64(row, 7),
		.lost = sqlite3_column_int64(row, 8),
		.incidents = sqlite3_column_int64(row, 9),
		.bytes = sqlite3_column_int64(row, 10),
	};
	memcpy(ret->name, name, name_size);
	memcpy(ret->boot_id, boot_id, boot_size);
	return (uint64_t)sqlite3_column_int64(row, 11) == columns_segment_crc(ret);
}

static bool read_incident(sqlite3_stmt *row, struct store_incident *ret)
{
	*ret = (struct store_incident){
		.segment = index_column(row, 0),
		.id = sqlite3_column_int64(row, 2),
		.time_ns = sqlite3_column_int64(row, 3),
		.stall_ns = sqlite3_column_int64(row, 4),
		.error_ns = sqlite3_column_int64(row, 5),
		.perf_ns = sqlite3_column_int64(row, 6),
		.severity = sqlite3_column_int64(row, 7),
		.kind = index_column(row, 8),
		.text = index_column(row, 9),
		.source = index_column(row, 10),
		.fields = index_column(row, 11),
		.boot_id = index_column(row, 12),
	};
	return (uint64_t)sqlite3_column_int64(row, 13) ==
	       columns_incident_crc(ret, sqlite3_column_int64(row, 1));
}

static int damaged_row(struct error *error)
{
	return error_set(error, -EBADMSG, "index.sqlite: damaged row");
}

static int index_walked(struct index *index, sqlite3_stmt *rows, int code, int r,
			struct error *error)
{
	if (r == 0 && code != SQLITE_DONE)
		r = index_error(index, code, error);
	sqlite3_finalize(rows);
	return r;
}

int index_segments(struct index *index,
		   int (*see)(void *context, const struct store_segment *segment), void *context,
		   struct error *error)
{
	struct store_segment segment = { 0 };
	char before[sizeof(segment.name)];
	sqlite3_stmt *rows;
	int r = index_statement(index, "SELECT * FROM segments ORDER BY name", &rows, error);
	int code = SQLITE_DONE;

	if (r < 0)
		return r;
	while (r == 0 && (code = sqlite3_step(rows)) == SQLITE_ROW) {
		memcpy(before, segment.name, sizeof(before));
		/* a page that was copied over another one would repeat valid rows */
		if (!index_read_segment(rows, &segment) || strcmp(before, segment.name) >= 0)
			r = damaged_row(error);
		else
			r = see(context, &segment);
	}
	return index_walked(index, rows, code, r, error);
}

int index_incidents(struct index *index,
		    int (*see)(void *context, const struct store_incident *incident), void *context,
		    struct error *error)
{
	struct store_incident incident;
	sqlite3_stmt *rows;
	int r = index_statement(index, "SELECT * FROM incidents ORDER BY segment, number", &rows,
				error);
	int code = SQLITE_DONE;

	if (r < 0)
		return r;
	while (r == 0 && (code = sqlite3_step(rows)) == SQLITE_ROW)
		r = read_incident(rows, &incident) ? see(context, &incident) : damaged_row(error);
	return index_walked(index, rows, code, r, error);
}

/* Returns the row's data. Checks that it belongs to the segment that it names. */
static bool index_read_busy(sqlite3_stmt *row, const void **ret_data, size_t *ret_size)
{
	const char *segment = index_column(row, 0);

	*ret_data = sqlite3_column_blob(row, 1);
	*ret_size = sqlite3_column_bytes(row, 1);
	return (uint64_t)sqlite3_column_int64(row, 2) ==
	       columns_busy_crc(segment, *ret_data, *ret_size);
}

int index_busy(struct index *index, const char *name, struct buffer *bytes, struct error *error)
{
	sqlite3_stmt *ask = index->ask_busy;
	const void *data;
	size_t size;
	int code, r = 0;

	sqlite3_bind_text(ask, 1, name, -1, SQLITE_STATIC);
	code = sqlite3_step(ask);
	if (code == SQLITE_ROW && index_read_busy(ask, &data, &size) &&
	    strcmp(index_column(ask, 0), name) == 0) {
		buffer_bytes(bytes, data, size);
		r = buffer_failed(bytes) ? -ENOMEM : 1;
	} else if (code != SQLITE_DONE) {
		r = code == SQLITE_ROW ? damaged_row(error) : index_error(index, code, error);
	}
	sqlite3_reset(ask);
	return r;
}

int index_begin_reading(struct index *index, struct error *error)
{
	int r = index_statement(index, "SELECT * FROM busy WHERE segment = ?", &index->ask_busy,
				error);

	return r < 0 ? r : index_run(index, "BEGIN", error);
}

void index_end_reading(struct index *index)
{
	sqlite3_finalize(index->ask_busy);
	index->ask_busy = NULL;
	sqlite3_exec(index->db, "COMMIT", NULL, NULL, NULL);
}

int index_all_busy(struct index *index,
		   int (*see)(void *context, const char *name, const void *data, size_t size),
		   void *context, struct error *error)
{
	sqlite3_stmt *rows;
	const void *data;
	size_t size;
	int r = index_statement(index, "SELECT * FROM busy ORDER BY segment", &rows, error);
	int code = SQLITE_DONE;

	if (r < 0)
		return r;
	while (r == 0 && (code = sqlite3_step(rows)) == SQLITE_ROW)
		r = index_read_busy(rows, &data, &size)
			    ? see(context, index_column(rows, 0), data, size)
			    : damaged_row(error);
	return index_walked(index, rows, code, r, error);
}
