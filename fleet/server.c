// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/server.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer answer is not for a person, and might not fit into memory. */
#define SERVER_ANSWER_MAX (512u << 20)

struct server {
	struct server_address address;
	struct http_access access;
	struct http *http;
	uint64_t bytes_per_second;
};

static bool server_is_name(const char *name)
{
	size_t size = strlen(name);

	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '_')
			return false;
	return size > 0 && size < SERVER_NAME_MAX;
}

/* Takes "USER@" from the begin of the text. Returns what follows, or NULL after an error. */
static const char *server_take_user(const char *text, struct server_address *address,
				    struct error *error)
{
	size_t authority = strcspn(text, "/");
	const char *at = memrchr(text, '@', authority);

	if (!at)
		return text;
	if (memchr(text, ':', at - text)) {
		error_set(error, -EINVAL,
			  "the URL has a password, which all can see; put it into --access");
		return NULL;
	}
	if ((size_t)(at - text) >= sizeof(address->user)) {
		error_set(error, -EINVAL, "the URL's user is longer than %d bytes",
			  SERVER_NAME_MAX - 1);
		return NULL;
	}
	memcpy(address->user, text, at - text);
	return at + 1;
}

/*
 * Accepts only the characters of a host and a port, so that nothing but our own text follows in the
 * URL.
 */
static bool server_is_authority(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(".-_:[]", text[i]))
			return false;
	return size > 0 && size < 256;
}

int server_parse(const char *url, struct server_address *ret_address, struct error *error)
{
	struct server_address address = { .database = SERVER_DATABASE };
	const char *rest = strncmp(url, "https://", 8) == 0  ? url + 8
			   : strncmp(url, "http://", 7) == 0 ? url + 7
							     : NULL;
	int scheme = rest ? rest - url : 0;
	size_t authority;

	/* no message repeats the URL: a person may have put a password anywhere into it */
	if (!rest)
		return error_set(error, -EINVAL,
				 "the URL has no scheme; write https://HOST:8443/DATABASE");
	rest = server_take_user(rest, &address, error);
	if (!rest)
		return -EINVAL;
	authority = strcspn(rest, "/");
	if (!server_is_authority(rest, authority))
		return error_set(
			error, -EINVAL,
			"the URL lacks a host and a port; write https://HOST:8443/DATABASE");
	snprintf(address.base, sizeof(address.base), "%.*s%.*s", scheme, url, (int)authority, rest);
	rest += authority;
	if (*rest == '/' && rest[1]) {
		if (!server_is_name(rest + 1))
			return error_set(
				error, -EINVAL,
				"the URL's database has more than letters, digits and '_'");
		snprintf(address.database, sizeof(address.database), "%s", rest + 1);
	}
	*ret_address = address;
	return 0;
}

int server_open(const char *url, const struct http_access *access, struct server **ret_server,
		struct error *error)
{
	_cleanup_(cleanup_server) struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return -ENOMEM;
	r = server_parse(url, &server->address, error);
	if (r < 0)
		return r;
	server->access = *access;
	if (*server->address.user)
		server->access.user = server->address.user;
	r = http_new(&server->access, &server->http, error);
	if (r < 0)
		return r;
	*ret_server = take_ptr(server);
	return 0;
}

struct server *server_close(struct server *server)
{
	if (!server)
		return NULL;
	http_free(server->http);
	free(server);
	return NULL;
}

const char *server_database(const struct server *server)
{
	return server->address.database;
}

void server_limit(struct server *server, uint64_t bytes_per_second)
{
	server->bytes_per_second = bytes_per_second;
}

/* Maps ClickHouse's codes of errors that a person must mend, but not in the statement. */
static int server_errno(unsigned int status, unsigned int code)
{
	switch (code) {
	/* UNKNOWN_TABLE, UNKNOWN_DATABASE */
	case 60:
	case 81:
		return -ENOENT;
	/* UNKNOWN_USER, WRONG_PASSWORD, REQUIRED_PASSWORD, ACCESS_DENIED, AUTHENTICATION_FAILED */
	case 192:
	case 193:
	case 194:
	case 497:
	case 516:
		return -EACCES;
	default:
		return status == 401 || status == 403 ? -EACCES : -EREMOTEIO;
	}
}

/* Says what the server said: its first line, which begins with "Code: N". */
static int server_explain(const struct server *server, unsigned int status, struct buffer *answer,
			  struct error *error)
{
	const char *text = buffer_shown(answer);
	unsigned int code = 0;
	int length, r;

	sscanf(text, "Code: %9u", &code);
	r = server_errno(status, code);
	length = MIN(strcspn(text, "\r\n"), (size_t)400);
	if (r == -ENOENT)
		return error_set(
			error, r,
			"%s: the database %s lacks a table; run: perftape fleet init --to %s/%s",
			server->address.base, server->address.database, server->address.base,
			server->address.database);
	if (r == -EACCES)
		return error_set(error, r,
				 "%s: this user is refused: %.*s; check user, password and token",
				 server->address.base, length, text);
	return error_set(error, r, "%s: the server answers %u: %.*s", server->address.base, status,
			 length, length ? text : "without a text");
}

/* Encodes a text for the query of a URL: everything but letters and digits as %XX. */
static void server_put_encoded(struct buffer *url, const char *text)
{
	for (const char *at = text; *at; at++)
		if (isalnum((unsigned char)*at))
			buffer_u8(url, *at);
		else
			buffer_printf(url, "%%%02X", (unsigned char)*at);
}

static int server_post(struct server *server, struct buffer *url, const void *body, size_t size,
		       bool rows, struct buffer *answer, struct error *error)
{
	_cleanup_(buffer_done) struct buffer own = { 0 };
	size_t before;
	unsigned int status;
	struct http_request request = {
		.body = body,
		.size = size,
		.gzip = rows,
		.bytes_per_second = rows ? server->bytes_per_second : 0,
		.answer_max = SERVER_ANSWER_MAX,
	};
	int r;

	buffer_u8(url, 0);
	if (buffer_failed(url))
		return -ENOMEM;
	request.url = (const char *)url->data;
	answer = answer ? answer : &own;
	before = answer->size;
	r = http_post(server->http, &request, answer, &status, error);
	if (r < 0)
		return r == -ENOMEM ? r : error_prefix(error, r, "%s", server->address.base);
	if (status == 200)
		return 0;
	buffer_bytes(&own, "", 0);
	if (answer != &own)
		buffer_bytes(&own, answer->data + before, answer->size - before);
	return server_explain(server, status, &own, error);
}

int server_run(struct server *server, const char *sql, bool outside, struct buffer *answer,
	       struct error *error)
{
	_cleanup_(buffer_done) struct buffer url = { 0 };

	buffer_printf(&url, "%s/?wait_end_of_query=1&enable_http_compression=1",
		      server->address.base);
	if (!outside)
		buffer_printf(&url, "&database=%s", server->address.database);
	return server_post(server, &url, sql, strlen(sql), false, answer, error);
}

int server_insert(struct server *server, const char *into, const void *rows, size_t size,
		  struct error *error)
{
	_cleanup_(buffer_done) struct buffer url = { 0 };

	/* a distributed table says that it has the rows when the shards have them */
	buffer_printf(&url,
		      "%s/?database=%s&insert_distributed_sync=1&query=", server->address.base,
		      server->address.database);
	server_put_encoded(&url, "INSERT INTO ");
	server_put_encoded(&url, into);
	server_put_encoded(&url, " FORMAT RowBinary");
	return server_post(server, &url, rows, size, true, NULL, error);
}
