/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The tables of a fleet. sql/schema.sql has them for one current server; this file adapts them to
 * older servers and to clusters, and brings tables of an older perftape up to date: a column that
 * they lack is added. Rows and columns never go.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "fleet/server.h"

#define SCHEMA_VERSION 1

struct schema_target {
	const char *database;
	/* NULL: a single server. */
	const char *cluster;
	/* The server knows codecs, TTL and the deduplication of tables that are not replicated. */
	bool current;
	/* The server takes LowCardinality. Older ones need a setting for it. */
	bool low_cardinality;
	uint32_t samples_days;
	uint32_t sums_days;
};

struct schema_column {
	/* The number of its table. */
	size_t table;
	char *name;
	/* Its type, and its codec if the server knows codecs. */
	char *definition;
};

struct schema {
	/* In the order in which they are run. */
	array_of(char *) statements;
	/* Names as they are asked for, also in a cluster. */
	array_of(char *) tables;
	array_of(struct schema_column) columns;
};

/* Returns 0 or -ENOMEM. */
int schema_make(const struct schema_target *target, struct schema *ret_schema);
void schema_done(struct schema *schema);

/* Asks the server what it is. `ret_target` has its database and cluster already. */
int schema_ask_target(struct server *server, struct schema_target *target, struct error *error);

struct schema_result {
	/* The version that the server had; 0 if it had no tables. */
	uint32_t version;
	/* The number of columns that were added to existing tables. */
	size_t added;
};
/*
 * Makes or upgrades the tables. May be repeated at any time, and beside hosts that ship. Returns
 * -EPROTONOSUPPORT if a newer perftape made the tables.
 */
int schema_apply(struct server *server, const struct schema_target *target,
		 struct schema_result *ret_result, struct error *error);
