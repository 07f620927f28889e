/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Posts bytes over HTTP and HTTPS. The only code that uses libcurl, which http_new() loads: a
 * program that never ships does not pay for it. A build without the headers of libcurl has the same
 * functions; http_new() then says what is missing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"

/* How to prove who we are, and who the server is. Each may be NULL. Valid as long as the http. */
struct http_access {
	const char *user;
	const char *password;
	/* Sent as "Authorization: Bearer". */
	const char *token;
	/* Files: certificates of authorities, and our certificate with its key. */
	const char *ca;
	const char *cert;
	const char *key;
};

struct http;
/* Returns 0, -ENOSYS without libcurl, with a text that says how to get it, or -ENOMEM. */
int http_new(const struct http_access *access, struct http **ret_http, struct error *error);
struct http *http_free(struct http *http);
DEFINE_CLEANUP(http, struct http *, http_free)

struct http_request {
	const char *url;
	const void *body;
	size_t size;
	/* The body is gzipped. */
	bool gzip;
	/* 0: not limited. */
	uint64_t bytes_per_second;
	/* A longer answer is an error. */
	size_t answer_max;
};

/*
 * Posts the body and appends the answer's body. Returns 0 with the status of any answer. Returns
 * -EFBIG for an answer that is too long; -EPERM if TLS refuses the peer, or the peer refuses us;
 * -ENOTCONN without a whole answer. The text says why.
 */
int http_post(struct http *http, const struct http_request *request, struct buffer *answer,
	      unsigned int *ret_status, struct error *error);
