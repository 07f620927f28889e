/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A ClickHouse server, or one node of a cluster, over HTTP. Its URL is http[s]://[USER@]HOST[:PORT]
 * [/DATABASE]; the database is perftape by default.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/http.h"

#define SERVER_DATABASE "perftape"
#define SERVER_NAME_MAX 64

struct server_address {
	/* Without user and database: "https://host:8443". */
	char base[512];
	/* "" without a user. */
	char user[SERVER_NAME_MAX];
	char database[SERVER_NAME_MAX];
};

/*
 * Returns 0, or -EINVAL with a text for a URL that is not one, that has a password, or a database
 * whose name is more than letters, digits and '_'.
 */
int server_parse(const char *url, struct server_address *ret_address, struct error *error);

struct server;
/* Copies the URL; the strings of `access` must outlive the server. Does not connect. */
int server_open(const char *url, const struct http_access *access, struct server **ret_server,
		struct error *error);
struct server *server_close(struct server *server);
DEFINE_CLEANUP(server, struct server *, server_close)
const char *server_database(const struct server *server);
/* Limits what server_insert() sends. 0: no limit. */
void server_limit(struct server *server, uint64_t bytes_per_second);

/*
 * Runs a statement and appends its whole answer; the server sends nothing before it has the answer.
 * `outside` runs the statement outside of the database, which may not exist yet.
 *
 * Both functions return the errors of http_post(), and with a text of the server: -EACCES if it
 * refuses the user; -ENOENT if a database or table does not exist; -EREMOTEIO for all else.
 */
int server_run(struct server *server, const char *sql, bool outside, struct buffer *answer,
	       struct error *error);
/*
 * Inserts gzipped rows in the format RowBinary. `into` is "TABLE (COLUMN, ...)". Returns 0 once all
 * replicas that count have the rows.
 */
int server_insert(struct server *server, const char *into, const void *rows, size_t size,
		  struct error *error);
