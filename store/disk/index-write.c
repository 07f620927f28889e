// SPDX-License-Identifier: GPL-2.0-only
/* Changes the index. Adds, replaces and removes all rows of one segment together. */

#include "store/disk/index-columns.h"
#include "store/disk/index-internal.h"

/* Runs a statement without result rows, and finalizes it. */
static int index_finish(struct index *index, sqlite3_stmt *statement, struct error *error)
{
	int code = sqlite3_step(statement);
	int r = code == SQLITE_DONE ? 0 : index_error(index, code, error);

	sqlite3_finalize(statement);
	return r;
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

void index_bytes_done(struct index_bytes *bytes)
{
	for (int i = 0; i < INDEX_TABLES; i++)
		buffer_done(&bytes->of[i]);
}

static int index_put_bytes(struct index *index, enum index_table table, const char *segment,
			   const struct buffer *bytes, struct error *error)
{
	static const char *const puts[INDEX_TABLES] = {
		"INSERT INTO busy VALUES (?,?,?)",
		"INSERT INTO outlines VALUES (?,?,?)",
	};
	sqlite3_stmt *put;
	int r = index_statement(index, puts[table], &put, error);

	if (r < 0)
		return r;
	sqlite3_bind_text(put, 1, segment, -1, SQLITE_STATIC);
	sqlite3_bind_blob64(put, 2, bytes->data, bytes->size, SQLITE_STATIC);
	sqlite3_bind_int64(put, 3, columns_bytes_crc(segment, bytes->data, bytes->size));
	return index_finish(index, put, error);
}

static int index_remove_rows(struct index *index, const char *sql, const char *name,
			     struct error *error)
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
	if (r < 0) {
		index_abort(index);
		return r;
	}
	return index_commit(index, error);
}

/* Removes what belongs to the row of a segment. */
static int index_remove_parts(struct index *index, const char *name, struct error *error)
{
	static const char *const parts[] = {
		"DELETE FROM incidents WHERE segment = ?",
		"DELETE FROM busy WHERE segment = ?",
		"DELETE FROM outlines WHERE segment = ?",
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)
		r = index_remove_rows(index, parts[i], name, error);
	return r;
}

static int index_remove_all(struct index *index, const char *name, struct error *error)
{
	int r = index_remove_rows(index, "DELETE FROM segments WHERE name = ?", name, error);

	return r < 0 ? r : index_remove_parts(index, name, error);
}

int index_remove(struct index *index, const char *name, struct error *error)
{
	bool own = sqlite3_get_autocommit(index->db);
	int r = own ? index_begin(index, error) : 0;

	if (r < 0)
		return index_end_own(index, own, r, error);
	r = index_remove_all(index, name, error);
	return index_end_own(index, own, r, error);
}

static int index_put_all(struct index *index, const struct store_segment *segment,
			 const struct incident_rows *incidents, const struct index_bytes *bytes,
			 struct error *error)
{
	int r = index_remove_parts(index, segment->name, error);

	if (r < 0)
		return r;
	r = index_put_segment(index, segment, error);
	for (int i = 0; r == 0 && i < INDEX_TABLES; i++)
		if (bytes->of[i].size)
			r = index_put_bytes(index, i, segment->name, &bytes->of[i], error);
	for (size_t i = 0; r == 0 && i < incidents->rows.count; i++) {
		struct store_incident incident = incident_rows_at(incidents, i);

		r = index_put_incident(index, &incident, i, error);
	}
	return r;
}

int index_put(struct index *index, const struct store_segment *segment,
	      const struct incident_rows *incidents, const struct index_bytes *bytes,
	      struct error *error)
{
	bool own = sqlite3_get_autocommit(index->db);
	int r = own ? index_begin(index, error) : 0;

	if (r < 0)
		return index_end_own(index, own, r, error);
	r = index_put_all(index, segment, incidents, bytes, error);
	return index_end_own(index, own, r, error);
}
