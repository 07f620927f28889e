// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fleet/sql-text.h"
/* generated from sql/schema.sql */
#include "fleet/schema-sql.h"

#define SCHEMA_CREATE "CREATE TABLE IF NOT EXISTS "
#define SCHEMA_SHARD "-- shard: "
#define SCHEMA_ENGINE "ENGINE = ReplacingMergeTree"

/* Reads the file line by line, and collects the statement of one table. */
struct schema_maker {
	const struct schema_target *target;
	struct schema *schema;
	struct buffer statement;
	const char *shard;
	bool failed;
};

void schema_done(struct schema *schema)
{
	for (size_t i = 0; i < schema->statements.count; i++)
		free(schema->statements.items[i]);
	for (size_t i = 0; i < schema->tables.count; i++)
		free(schema->tables.items[i]);
	for (size_t i = 0; i < schema->columns.count; i++) {
		free(schema->columns.items[i].name);
		free(schema->columns.items[i].definition);
	}
	array_done(&schema->statements);
	array_done(&schema->tables);
	array_done(&schema->columns);
}

static const char *schema_table(const struct schema_maker *maker)
{
	size_t count = maker->schema->tables.count;

	return count ? maker->schema->tables.items[count - 1] : "";
}

/* Ends the statement and takes it into the list. */
static void schema_end_statement(struct schema_maker *maker)
{
	char *text;

	buffer_u8(&maker->statement, 0);
	text = maker->statement.failed ? NULL : strdup((const char *)maker->statement.data);
	maker->statement.size = 0;
	if (!text || array_push(&maker->schema->statements, text) < 0) {
		free(text);
		maker->failed = true;
	}
}

static void schema_begin_table(struct schema_maker *maker, const char *name)
{
	char *copy = strdup(name);

	if (!copy || array_push(&maker->schema->tables, copy) < 0) {
		free(copy);
		maker->failed = true;
	}
	buffer_printf(&maker->statement, SCHEMA_CREATE "%s.%s", maker->target->database, name);
	if (maker->target->cluster)
		buffer_printf(&maker->statement, "_local ON CLUSTER %s", maker->target->cluster);
	buffer_u8(&maker->statement, '\n');
}

/* "    NAME TYPE CODEC(...),": remembers the column for upgrades. */
static void schema_put_column(struct schema_maker *maker, char *line)
{
	char *codec = strstr(line, " CODEC("), *comma = line + strlen(line) - 1, *space;
	bool more = *comma == ',';
	struct schema_column column = { .table = maker->schema->tables.count - 1 };

	if (more)
		*comma = 0;
	if (codec && !maker->target->current)
		*codec = 0;
	buffer_printf(&maker->statement, "%s%s\n", line, more ? "," : "");
	line += strspn(line, " ");
	space = strchr(line, ' ');
	if (!space)
		return;
	column.name = strndup(line, space - line);
	column.definition = strdup(space + 1);
	if (!column.name || !column.definition || array_push(&maker->schema->columns, column) < 0) {
		free(column.name);
		free(column.definition);
		maker->failed = true;
	}
}

/* "ReplacingMergeTree(day)": a replicated table names its place in ZooKeeper first. */
static void schema_put_engine(struct schema_maker *maker, const char *arguments)
{
	bool has = *arguments == '(';

	if (!maker->target->cluster) {
		buffer_printf(&maker->statement, "%s%s\n", SCHEMA_ENGINE, arguments);
		return;
	}
	buffer_printf(&maker->statement,
		      "ENGINE = ReplicatedReplacingMergeTree(\n"
		      "    '/clickhouse/tables/{shard}/%s.%s', '{replica}'%s%s\n",
		      maker->target->database, schema_table(maker), has ? ", " : ")",
		      has ? arguments + 1 : "");
}

/*
 * Makes the server recognise a repeated batch for a week, because a host may be cut off for that
 * time. Only single servers know the first setting of the line, and only current ones the others.
 */
static void schema_put_settings(struct schema_maker *maker, const char *line)
{
	const char *others = line + strcspn(line, ",;");

	if (maker->target->cluster)
		buffer_text(&maker->statement,
			    "SETTINGS replicated_deduplication_window = 10000,\n"
			    "    replicated_deduplication_window_seconds = 604800");
	else if (maker->target->current)
		buffer_bytes(&maker->statement, line, others - line);
	if (maker->target->current)
		buffer_bytes(&maker->statement, others, strcspn(others, ";"));
	schema_end_statement(maker);
}

static void schema_put_distributed(struct schema_maker *maker)
{
	const struct schema_target *target = maker->target;
	const char *table = schema_table(maker);

	if (!target->cluster)
		return;
	buffer_printf(&maker->statement,
		      SCHEMA_CREATE "%s.%s ON CLUSTER %s AS %s.%s_local\n"
				    "ENGINE = Distributed(%s, %s, %s_local, %s)",
		      target->database, table, target->cluster, target->database, table,
		      target->cluster, target->database, table, maker->shard);
	schema_end_statement(maker);
}

static bool schema_begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

static void schema_take_line(struct schema_maker *maker, char *line)
{
	if (schema_begins(line, SCHEMA_SHARD))
		maker->shard = line + strlen(SCHEMA_SHARD);
	else if (!*line || schema_begins(line, "--"))
		return;
	else if (schema_begins(line, SCHEMA_CREATE))
		schema_begin_table(maker, line + strlen(SCHEMA_CREATE));
	else if (schema_begins(line, "    "))
		schema_put_column(maker, line);
	else if (schema_begins(line, SCHEMA_ENGINE))
		schema_put_engine(maker, line + strlen(SCHEMA_ENGINE));
	else if (schema_begins(line, "SETTINGS")) {
		schema_put_settings(maker, line);
		schema_put_distributed(maker);
	} else if (!schema_begins(line, "TTL") || maker->target->current)
		buffer_printf(&maker->statement, "%s\n", line);
}

/* Servers that do not take LowCardinality store the same text, in more bytes. */
static void schema_flatten(char *text)
{
	static const char low[] = "LowCardinality(String)";

	for (char *at; (at = strstr(text, low));) {
		memcpy(at, "String", 6);
		memmove(at + 6, at + strlen(low), strlen(at + strlen(low)) + 1);
	}
}

int schema_make(const struct schema_target *target, struct schema *ret_schema)
{
	const struct sql_value days[] = {
		{ "samples_days", NULL, target->samples_days },
		{ "sums_days", NULL, target->sums_days },
	};
	_cleanup_(buffer_done) struct buffer text = { 0 };
	_cleanup_(schema_done) struct schema schema = { 0 };
	struct schema_maker maker = { .target = target, .schema = &schema };
	char *rest;
	int r = sql_fill(schema_sql, days, ARRAY_SIZE(days), &text);

	if (r < 0)
		return r;
	buffer_u8(&text, 0);
	if (buffer_failed(&text))
		return -ENOMEM;
	rest = (char *)text.data;
	if (!target->low_cardinality)
		schema_flatten(rest);
	for (char *line; (line = strsep(&rest, "\n"));)
		schema_take_line(&maker, line);
	buffer_done(&maker.statement);
	if (maker.failed)
		return -ENOMEM;
	*ret_schema = schema;
	schema = (struct schema){ 0 };
	return 0;
}
