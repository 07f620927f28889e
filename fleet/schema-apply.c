// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "fleet/row-binary.h"
#include "fleet/schema.h"
#include "fleet/sql-text.h"

/* Servers from this year (2020) on can store the current tables; those of 2018 cannot. */
#define SCHEMA_CURRENT_MAJOR 20

/* Fills a statement, runs it, and reads a single number of its answer. */
static int schema_ask_number(struct server *server, const char *sql, const char *name,
			     const char *text, uint64_t *ret_number, struct error *error)
{
	const struct sql_value value = { name, text, 0 };
	_cleanup_(buffer_done) struct buffer filled = { 0 }, answer = { 0 };
	struct reader rows;
	uint64_t number;
	int r = sql_fill(sql, &value, 1, &filled);

	if (r < 0)
		return r;
	r = server_run(server, buffer_shown(&filled), true, &answer, error);
	if (r < 0)
		return r;
	reader_init(&rows, answer.data, answer.size);
	number = reader_u64(&rows);
	if (reader_failed(&rows))
		return error_set(error, -EBADMSG, "the server's answer is not a number");
	*ret_number = number;
	return 0;
}

static int schema_ask_version(struct server *server, unsigned int *ret_major, struct error *error)
{
	_cleanup_(buffer_done) struct buffer answer = { 0 }, text = { 0 };
	struct reader rows;
	int r = server_run(server, "SELECT version() FORMAT RowBinary", true, &answer, error);

	if (r < 0)
		return r;
	reader_init(&rows, answer.data, answer.size);
	if (sscanf(row_text(&rows, &text), "%4u.", ret_major) != 1 || reader_failed(&rows))
		return error_set(error, -EBADMSG,
				 "no version in the answer; is this ClickHouse's HTTP port?");
	return 0;
}

/* A cluster must be one that the server knows, with macros for the places in ZooKeeper. */
static int schema_check_cluster(struct server *server, const char *cluster, struct error *error)
{
	uint64_t nodes, macros;
	int r = schema_ask_number(server,
				  "SELECT count() FROM system.clusters\n"
				  "WHERE cluster = {cluster:String} FORMAT RowBinary",
				  "cluster", cluster, &nodes, error);

	if (r < 0)
		return r;
	r = schema_ask_number(server,
			      "SELECT count() FROM system.macros\n"
			      "WHERE macro IN ('shard', 'replica') FORMAT RowBinary",
			      "cluster", cluster, &macros, error);
	if (r < 0)
		return r;
	if (!nodes)
		return error_set(error, -EINVAL,
				 "the server knows no cluster '%.100s'; see system.clusters",
				 cluster);
	if (macros < 2)
		return error_set(error, -EINVAL,
				 "the server lacks the macros shard and replica; set them");
	return 0;
}

int schema_ask_target(struct server *server, struct schema_target *target, struct error *error)
{
	uint64_t allowed = 1;
	unsigned int major = 0;
	int r = schema_ask_version(server, &major, error);

	if (r < 0)
		return r;
	target->current = major >= SCHEMA_CURRENT_MAJOR;
	if (!target->current)
		r = schema_ask_number(server,
				      "SELECT count() FROM system.settings\n"
				      "WHERE name = {name:String} AND value = '1'\n"
				      "FORMAT RowBinary",
				      "name", "allow_experimental_low_cardinality_type", &allowed,
				      error);
	if (r == 0 && target->cluster)
		r = schema_check_cluster(server, target->cluster, error);
	target->low_cardinality = target->current || allowed;
	return r;
}

static int schema_make_database(struct server *server, const struct schema_target *target,
				struct error *error)
{
	_cleanup_(buffer_done) struct buffer sql = { 0 };

	buffer_printf(&sql, "CREATE DATABASE IF NOT EXISTS %s%s%s", target->database,
		      target->cluster ? " ON CLUSTER " : "",
		      target->cluster ? target->cluster : "");
	return server_run(server, buffer_shown(&sql), true, NULL, error);
}

/* Reads the version of the tables; 0 if the database has none. */
static int schema_ask_tables(struct server *server, uint32_t *ret_version, struct error *error)
{
	_cleanup_(buffer_done) struct buffer answer = { 0 };
	struct reader rows;
	uint64_t there;
	int r = schema_ask_number(server,
				  "SELECT count() FROM system.tables\n"
				  "WHERE database = {database:String}\n"
				  "AND name = 'schema_version' FORMAT RowBinary",
				  "database", server_database(server), &there, error);

	*ret_version = 0;
	if (r < 0 || !there)
		return r;
	r = server_run(server, "SELECT max(version) FROM schema_version FORMAT RowBinary", false,
		       &answer, error);
	if (r < 0)
		return r;
	reader_init(&rows, answer.data, answer.size);
	*ret_version = reader_u32(&rows);
	return reader_failed(&rows) ? -EBADMSG : 0;
}

/* Appends "TABLE.COLUMN\n" for each column that the database has. */
static int schema_ask_columns(struct server *server, struct buffer *columns, struct error *error)
{
	const struct sql_value database = { "database", server_database(server), 0 };
	_cleanup_(buffer_done) struct buffer sql = { 0 }, answer = { 0 }, text = { 0 };
	struct reader rows;
	int r = sql_fill("SELECT concat(table, '.', name) FROM system.columns\n"
			 "WHERE database = {database:String} FORMAT RowBinary",
			 &database, 1, &sql);

	if (r < 0)
		return r;
	r = server_run(server, buffer_shown(&sql), true, &answer, error);
	if (r < 0)
		return r;
	reader_init(&rows, answer.data, answer.size);
	buffer_u8(columns, '\n');
	while (reader_left(&rows))
		buffer_printf(columns, "%s\n", row_text(&rows, &text));
	buffer_u8(columns, 0);
	if (reader_failed(&rows))
		return error_set(error, -EBADMSG, "the server's list of columns is damaged");
	return buffer_failed(columns) ? -ENOMEM : 0;
}

static int schema_has_column(const char *columns, const char *table, const char *suffix,
			     const char *name)
{
	_cleanup_free_ char *line = NULL;

	if (asprintf(&line, "\n%s%s.%s\n", table, suffix, name) < 0)
		return -ENOMEM;
	return strstr(columns, line) != NULL;
}

static int schema_add_column(struct server *server, const struct schema_target *target,
			     const char *table, const char *suffix,
			     const struct schema_column *column, struct error *error)
{
	_cleanup_(buffer_done) struct buffer sql = { 0 };

	buffer_printf(&sql, "ALTER TABLE %s.%s%s%s%s ADD COLUMN %s ", target->database, table,
		      suffix, target->cluster ? " ON CLUSTER " : "",
		      target->cluster ? target->cluster : "", column->name);
	/* a distributed table stores nothing, so it takes no codec */
	buffer_bytes(&sql, column->definition,
		     target->cluster && !*suffix ? strcspn(column->definition, " ")
						 : strlen(column->definition));
	return server_run(server, buffer_shown(&sql), false, NULL, error);
}

/* Adds the columns that the tables of one side lack: the local ones, or those in front of them. */
static int schema_add_columns(struct server *server, const struct schema_target *target,
			      const struct schema *schema, const char *suffix, size_t *added,
			      struct error *error)
{
	_cleanup_(buffer_done) struct buffer columns = { 0 };
	int r = schema_ask_columns(server, &columns, error);

	for (size_t i = 0; r == 0 && i < schema->columns.count; i++) {
		const struct schema_column *column = &schema->columns.items[i];
		const char *table = schema->tables.items[column->table];

		r = schema_has_column((const char *)columns.data, table, suffix, column->name);
		if (r != 0) {
			r = MIN(r, 0);
			continue;
		}
		r = schema_add_column(server, target, table, suffix, column, error);
		*added += r == 0;
	}
	return r;
}

static int schema_note_version(struct server *server, struct error *error)
{
	const struct sql_value values[] = {
		{ "version", NULL, SCHEMA_VERSION },
		{ "now", NULL, clock_ns(CLOCK_REALTIME) / NSEC_PER_USEC },
	};
	_cleanup_(buffer_done) struct buffer sql = { 0 };
	int r = sql_fill("INSERT INTO schema_version (version, ts)\n"
			 "VALUES ({version:UInt32}, {now:UInt64})",
			 values, ARRAY_SIZE(values), &sql);

	return r < 0 ? r : server_run(server, buffer_shown(&sql), false, NULL, error);
}

static int schema_apply_all(struct server *server, const struct schema_target *target,
			    struct schema_result *result, struct error *error)
{
	_cleanup_(schema_done) struct schema schema = { 0 };
	int r = schema_make(target, &schema);

	if (r < 0)
		return r;
	r = schema_make_database(server, target, error);
	for (size_t i = 0; r == 0 && i < schema.statements.count; i++)
		r = server_run(server, schema.statements.items[i], false, NULL, error);
	if (r < 0)
		return r;
	if (target->cluster)
		r = schema_add_columns(server, target, &schema, "_local", &result->added, error);
	if (r != 0)
		return r;
	r = schema_add_columns(server, target, &schema, "", &result->added, error);
	if (r != 0)
		return r;
	return result->version < SCHEMA_VERSION ? schema_note_version(server, error) : 0;
}

int schema_apply(struct server *server, const struct schema_target *target,
		 struct schema_result *ret_result, struct error *error)
{
	struct schema_result result = { 0 };
	int r = schema_ask_tables(server, &result.version, error);

	if (r < 0)
		return r;
	if (result.version > SCHEMA_VERSION)
		return error_set(
			error, -EPROTONOSUPPORT,
			"database %s has version %u of the tables, newer than %d; update perftape",
			server_database(server), result.version, SCHEMA_VERSION);
	r = schema_apply_all(server, target, &result, error);
	*ret_result = result;
	return r;
}
