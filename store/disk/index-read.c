// SPDX-License-Identifier: GPL-2.0-only
/* Reads the rows of the index, and checks each of them. */

#include "store/disk/index-columns.h"
#include "store/disk/index-internal.h"

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

static bool index_read_incident(sqlite3_stmt *row, struct store_incident *ret)
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

static int index_damaged_row(struct error *error)
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
		/* a copy of a page over another page would repeat valid rows */
		if (!index_read_segment(rows, &segment) || strcmp(before, segment.name) >= 0)
			r = index_damaged_row(error);
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
		r = index_read_incident(rows, &incident) ? see(context, &incident)
							 : index_damaged_row(error);
	return index_walked(index, rows, code, r, error);
}

/* Returns the row's data. Checks that the data belongs to the segment that the row names. */
static bool index_read_bytes(sqlite3_stmt *row, const void **ret_data, size_t *ret_size)
{
	const char *segment = index_column(row, 0);

	*ret_data = sqlite3_column_blob(row, 1);
	*ret_size = sqlite3_column_bytes(row, 1);
	return (uint64_t)sqlite3_column_int64(row, 2) ==
	       columns_bytes_crc(segment, *ret_data, *ret_size);
}

int index_bytes_of(struct index *index, enum index_table table, const char *name,
		   struct buffer *bytes, struct error *error)
{
	sqlite3_stmt *ask = index->ask[table];
	const void *data;
	size_t size;
	int code, r = 0;

	if (!ask)
		return 0;
	sqlite3_bind_text(ask, 1, name, -1, SQLITE_STATIC);
	code = sqlite3_step(ask);
	if (code == SQLITE_ROW && index_read_bytes(ask, &data, &size) &&
	    strcmp(index_column(ask, 0), name) == 0) {
		buffer_bytes(bytes, data, size);
		r = buffer_failed(bytes) ? -ENOMEM : 1;
	} else if (code != SQLITE_DONE) {
		r = code == SQLITE_ROW ? index_damaged_row(error) : index_error(index, code, error);
	}
	sqlite3_reset(ask);
	return r;
}

int index_begin_reading(struct index *index, struct error *error)
{
	static const char *const asks[INDEX_TABLES] = {
		"SELECT * FROM busy WHERE segment = ?",
		"SELECT * FROM outlines WHERE segment = ?",
	};
	int r = 0;

	for (int i = 0; r == 0 && i < INDEX_TABLES; i++)
		if (i != INDEX_OUTLINES || !index->lacks_outlines)
			r = index_statement(index, asks[i], &index->ask[i], error);
	return r < 0 ? r : index_run(index, "BEGIN", error);
}

void index_end_reading(struct index *index)
{
	for (int i = 0; i < INDEX_TABLES; i++) {
		sqlite3_finalize(index->ask[i]);
		index->ask[i] = NULL;
	}
	sqlite3_exec(index->db, "COMMIT", NULL, NULL, NULL);
}

int index_all_bytes(struct index *index, enum index_table table,
		    int (*see)(void *context, const char *name, const void *data, size_t size),
		    void *context, struct error *error)
{
	static const char *const all[INDEX_TABLES] = {
		"SELECT * FROM busy ORDER BY segment",
		"SELECT * FROM outlines ORDER BY segment",
	};
	sqlite3_stmt *rows;
	const void *data;
	size_t size;
	int code = SQLITE_DONE, r;

	if (table == INDEX_OUTLINES && index->lacks_outlines)
		return 0;
	r = index_statement(index, all[table], &rows, error);
	if (r < 0)
		return r;
	while (r == 0 && (code = sqlite3_step(rows)) == SQLITE_ROW)
		r = index_read_bytes(rows, &data, &size)
			    ? see(context, index_column(rows, 0), data, size)
			    : index_damaged_row(error);
	return index_walked(index, rows, code, r, error);
}
