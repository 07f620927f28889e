// SPDX-License-Identifier: GPL-2.0-only
/* The tables as each kind of server takes them. Real servers take them in tests/fleet/. */
#include "tests/check.h"

#include "fleet/schema.h"

static const struct schema_target current = { .database = "db",
					      .current = true,
					      .low_cardinality = true,
					      .samples_days = 14,
					      .sums_days = 400 };

static const char *statement(const struct schema *schema, const char *begin)
{
	for (size_t i = 0; i < schema->statements.count; i++)
		if (strncmp(schema->statements.items[i], begin, strlen(begin)) == 0)
			return schema->statements.items[i];
	CHECK_INSTEAD(begin, "no such statement");
	return NULL;
}

static void test_current(void)
{
	_cleanup_(schema_done) struct schema schema = { 0 };
	const char *samples;

	CHECK_EQ(schema_make(&current, &schema), 0);
	CHECK_EQ(schema.statements.count, schema.tables.count);
	samples = statement(&schema, "CREATE TABLE IF NOT EXISTS db.samples\n");
	CHECK(strstr(samples, "ts UInt64 CODEC(Delta(8), ZSTD(3)),\n"));
	CHECK(strstr(samples, "ORDER BY (host, minute, comm, tid, ts, "));
	CHECK(strstr(samples, "toIntervalDay(14)"));
	CHECK(strstr(samples, "SETTINGS non_replicated_deduplication_window"));
	CHECK(strstr(samples, "= 10000, min_compress_block_size = 262144, max"));
	CHECK(strstr(statement(&schema, "CREATE TABLE IF NOT EXISTS db.minutes\n"),
		     "toIntervalDay(400)"));
}

static void test_old(void)
{
	struct schema_target old = current;
	_cleanup_(schema_done) struct schema schema = { 0 };

	old.current = old.low_cardinality = false;
	CHECK_EQ(schema_make(&old, &schema), 0);
	for (size_t i = 0; i < schema.statements.count; i++) {
		CHECK(!strstr(schema.statements.items[i], "CODEC"));
		CHECK(!strstr(schema.statements.items[i], "TTL"));
		CHECK(!strstr(schema.statements.items[i], "SETTINGS"));
		CHECK(!strstr(schema.statements.items[i], "LowCardinality"));
	}
	CHECK(strstr(statement(&schema, "CREATE TABLE IF NOT EXISTS db.stacks\n"),
		     "frames Array(String),\n"));
}

static void test_cluster(void)
{
	struct schema_target cluster = current;
	_cleanup_(schema_done) struct schema schema = { 0 };
	const char *stacks;

	cluster.cluster = "c";
	CHECK_EQ(schema_make(&cluster, &schema), 0);
	CHECK(strstr(
		statement(&schema, "CREATE TABLE IF NOT EXISTS db.samples_local ON CLUSTER c\n"),
		"window_seconds = 604800, min_compress_block_size = 262144, max"));
	CHECK_EQ(schema.statements.count, 2 * schema.tables.count);
	stacks = statement(&schema, "CREATE TABLE IF NOT EXISTS db.stacks_local ON CLUSTER c\n");
	CHECK(strstr(stacks, "'/clickhouse/tables/{shard}/db.stacks', '{replica}', day)\n"));
	CHECK(strstr(stacks, "replicated_deduplication_window_seconds = 604800"));
	stacks = statement(
		&schema, "CREATE TABLE IF NOT EXISTS db.stacks ON CLUSTER c AS db.stacks_local\n");
	CHECK(strstr(stacks, "ENGINE = Distributed(c, db, stacks_local, stack)"));
}

static void test_columns(void)
{
	_cleanup_(schema_done) struct schema schema = { 0 };
	size_t samples = 0;

	CHECK_EQ(schema_make(&current, &schema), 0);
	for (size_t i = 0; i < schema.columns.count; i++)
		samples += !strcmp(schema.tables.items[schema.columns.items[i].table], "samples");
	CHECK_EQ(samples, 10);
	CHECK_STR(schema.columns.items[0].name, "version");
	CHECK_STR(schema.columns.items[0].definition, "UInt32");
}

static const char *refused(const char *url)
{
	struct server_address address;
	static struct error error;

	error.text[0] = 0;
	return server_parse(url, &address, &error) < 0 ? error.text : NULL;
}

static void test_addresses(void)
{
	struct server_address address;

	CHECK_EQ(server_parse("https://ship@host.example:8443/prof", &address, NULL), 0);
	CHECK_STR(address.base, "https://host.example:8443");
	CHECK_STR(address.user, "ship");
	CHECK_STR(address.database, "prof");
	CHECK_EQ(server_parse("http://[::1]:8123", &address, NULL), 0);
	CHECK_STR(address.database, "perftape");
	CHECK(refused("ftp://host"));
	CHECK(strstr(refused("https://me:secret@host"), "has a password"));
	CHECK(!strstr(refused("https://me:secret@host"), "secret"));
	CHECK(refused("http://host/a;b"));
	CHECK(refused("http://host?query=DROP"));
	CHECK(refused("http:///x"));
}

CHECK_MAIN({ "a current server gets codecs, TTL and a window of batches", test_current },
	   { "an old server gets what it knows", test_old },
	   { "a cluster gets replicated and distributed tables", test_cluster },
	   { "the columns are known for upgrades", test_columns }, { "URLs", test_addresses })
