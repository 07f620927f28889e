// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CURL

#include <curl/curl.h>
#include <dlfcn.h>
#include <limits.h>

/* The functions of the library that http_new() has loaded. */
struct http_library {
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	void (*easy_cleanup)(CURL *curl);
	void (*easy_reset)(CURL *curl);
	CURLcode (*setopt)(CURL *curl, CURLoption option, ...);
	CURLcode (*getinfo)(CURL *curl, CURLINFO info, ...);
	CURLcode (*perform)(CURL *curl);
	const char *(*strerror)(CURLcode code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
};

struct http {
	struct http_library library;
	struct http_access access;
	CURL *curl;
	char why[CURL_ERROR_SIZE];
};

static int http_find_function(void *library, const char *name, void *ret_function)
{
	void *function = dlsym(library, name);

	if (!function)
		return -ENOSYS;
	memcpy(ret_function, &function, sizeof(function));
	return 0;
}

/* The library stays loaded until the process ends, because it registers functions for its exit. */
static int http_load(struct http_library *library, struct error *error)
{
	void *file = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	const struct {
		const char *name;
		void *function;
	} functions[] = {
		{ "curl_global_init", &library->global_init },
		{ "curl_easy_init", &library->easy_init },
		{ "curl_easy_cleanup", &library->easy_cleanup },
		{ "curl_easy_reset", &library->easy_reset },
		{ "curl_easy_setopt", &library->setopt },
		{ "curl_easy_getinfo", &library->getinfo },
		{ "curl_easy_perform", &library->perform },
		{ "curl_easy_strerror", &library->strerror },
		{ "curl_slist_append", &library->slist_append },
		{ "curl_slist_free_all", &library->slist_free_all },
	};

	if (!file)
		return error_set(error, -ENOSYS,
				 "libcurl.so.4 is missing; install libcurl4 to talk to a fleet");
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (http_find_function(file, functions[i].name, functions[i].function) < 0)
			return error_set(error, -ENOSYS,
					 "libcurl.so.4 lacks %s; install a newer libcurl4",
					 functions[i].name);
	return 0;
}

int http_new(const struct http_access *access, struct http **ret_http, struct error *error)
{
	_cleanup_(cleanup_http) struct http *http = calloc(1, sizeof(*http));
	int r;

	if (!http)
		return -ENOMEM;
	http->access = *access;
	r = http_load(&http->library, error);
	if (r < 0)
		return r;
	if (http->library.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	http->curl = http->library.easy_init();
	if (!http->curl)
		return -ENOMEM;
	*ret_http = take_ptr(http);
	return 0;
}

struct http *http_free(struct http *http)
{
	if (!http)
		return NULL;
	if (http->curl)
		http->library.easy_cleanup(http->curl);
	free(http);
	return NULL;
}

struct http_taker {
	struct buffer *answer;
	size_t max;
	bool too_long;
};

/* Receives a piece of the answer. A result other than its size ends the transfer. */
static size_t http_take(char *data, size_t size, size_t count, void *context)
{
	struct http_taker *taker = context;

	if (size * count > taker->max - MIN(taker->max, taker->answer->size)) {
		taker->too_long = true;
		return 0;
	}
	buffer_bytes(taker->answer, data, size * count);
	return taker->answer->failed ? 0 : size * count;
}

/* Adds "NAME: VALUE". A value with a line break would be another header. */
static int http_add_header(const struct http *http, struct curl_slist **list, const char *name,
			   const char *value)
{
	_cleanup_(buffer_done) struct buffer line = { 0 };
	struct curl_slist *longer;

	if (!value)
		return 0;
	if (strpbrk(value, "\r\n"))
		return -EINVAL;
	buffer_printf(&line, "%s: %s", name, value);
	buffer_u8(&line, 0);
	if (buffer_failed(&line))
		return -ENOMEM;
	longer = http->library.slist_append(*list, (const char *)line.data);
	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

static int http_make_headers(const struct http *http, const struct http_request *request,
			     struct curl_slist **list)
{
	_cleanup_(buffer_done) struct buffer bearer = { 0 };
	const struct http_access *access = &http->access;
	int r;

	buffer_printf(&bearer, "Bearer %s", access->token ? access->token : "");
	buffer_u8(&bearer, 0);
	if (buffer_failed(&bearer))
		return -ENOMEM;
	r = http_add_header(http, list, "Content-Type", "application/octet-stream");
	if (r < 0)
		return r;
	r = http_add_header(http, list, "X-ClickHouse-User", access->user);
	if (r < 0)
		return r;
	r = http_add_header(http, list, "X-ClickHouse-Key", access->password);
	if (r < 0)
		return r;
	if (access->token)
		r = http_add_header(http, list, "Authorization", (const char *)bearer.data);
	if (r < 0)
		return r;
	return request->gzip ? http_add_header(http, list, "Content-Encoding", "gzip") : 0;
}

/* A server that says nothing for this time is away. */
#define HTTP_SILENT_SECONDS 60l
/* A question about a whole fleet may take a busy server this long, before the first byte. */
#define HTTP_SILENT_QUESTION_SECONDS 300l
#define HTTP_CONNECT_SECONDS 10l
/* A server that says a little all the time must not hold us for ever. */
#define HTTP_TOTAL_SECONDS 3600l

/* Returns the time for a request, with the time that its own limit makes it take. */
static long http_seconds(const struct http_request *request)
{
	uint64_t limited =
		request->bytes_per_second ? request->size / request->bytes_per_second : 0;

	return HTTP_TOTAL_SECONDS + (long)MIN(limited, (uint64_t)INT_MAX / 2);
}

static void http_set_options(struct http *http, const struct http_request *request,
			     struct curl_slist *headers, struct http_taker *taker)
{
	const struct http_access *access = &http->access;
	CURLcode (*set)(CURL *, CURLoption, ...) = http->library.setopt;
	CURL *curl = http->curl;

	http->library.easy_reset(curl);
	http->why[0] = 0;
	set(curl, CURLOPT_ERRORBUFFER, http->why);
	set(curl, CURLOPT_NOSIGNAL, 1l);
	set(curl, CURLOPT_URL, request->url);
	set(curl, CURLOPT_POST, 1l);
	set(curl, CURLOPT_POSTFIELDS, request->size ? request->body : "");
	set(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
	set(curl, CURLOPT_HTTPHEADER, headers);
	set(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
	set(curl, CURLOPT_CONNECTTIMEOUT, HTTP_CONNECT_SECONDS);
	set(curl, CURLOPT_TIMEOUT, http_seconds(request));
	set(curl, CURLOPT_LOW_SPEED_LIMIT, 1l);
	set(curl, CURLOPT_LOW_SPEED_TIME,
	    request->gzip ? HTTP_SILENT_SECONDS : HTTP_SILENT_QUESTION_SECONDS);
	set(curl, CURLOPT_MAX_SEND_SPEED_LARGE, (curl_off_t)request->bytes_per_second);
	set(curl, CURLOPT_WRITEFUNCTION, http_take);
	set(curl, CURLOPT_WRITEDATA, taker);
	if (access->ca)
		set(curl, CURLOPT_CAINFO, access->ca);
	if (access->cert)
		set(curl, CURLOPT_SSLCERT, access->cert);
	if (access->key)
		set(curl, CURLOPT_SSLKEY, access->key);
}

/*
 * A server that wants our certificate says so after its side of the handshake is over. If it then
 * resets the connection, its reason may be lost.
 */
static bool http_may_lack_certificate(const struct http *http, const char *url, CURLcode code)
{
	return strncmp(url, "https:", 6) == 0 && !http->access.cert &&
	       code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST &&
	       code != CURLE_OPERATION_TIMEDOUT;
}

/* Says in one line why a post failed. Returns its errno. */
static int http_explain(const struct http *http, const char *url, CURLcode code,
			struct error *error)
{
	const char *why = *http->why ? http->why : http->library.strerror(code);
	int length = strcspn(why, "\r\n");

	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
		return error_set(error, -EPERM,
				 "certificate refused: %.*s; check the URL and the setting ca",
				 length, why);
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		return error_set(error, -EPERM,
				 "cannot use a certificate: %.*s; check ca, cert and key", length,
				 why);
	default:
		break;
	}
	if (strstr(why, "certificate required") || strstr(why, "handshake failure") ||
	    strstr(why, "bad certificate") || strstr(why, "unknown ca"))
		return error_set(error, -EPERM, "the server refuses us: %.*s; check cert and key",
				 length, why);
	if (http_may_lack_certificate(http, url, code))
		return error_set(error, -ENOTCONN,
				 "connection ended: %.*s; for a certificate, set cert and key",
				 length, why);
	return error_set(error, -ENOTCONN, "no answer: %.*s", length, why);
}

static int http_send(struct http *http, const struct http_request *request,
		     struct curl_slist **headers, struct http_taker *taker, CURLcode *ret_code,
		     long *ret_status)
{
	int r = http_make_headers(http, request, headers);

	if (r < 0)
		return r;
	/* without this, curl waits a second for a leave to send a long body */
	r = http_add_header(http, headers, "Expect", "");
	if (r < 0)
		return r;
	http_set_options(http, request, *headers, taker);
	*ret_code = http->library.perform(http->curl);
	http->library.getinfo(http->curl, CURLINFO_RESPONSE_CODE, ret_status);
	/* the options borrow from this call */
	http->library.setopt(http->curl, CURLOPT_HTTPHEADER, NULL);
	return 0;
}

int http_post(struct http *http, const struct http_request *request, struct buffer *answer,
	      unsigned int *ret_status, struct error *error)
{
	struct http_taker taker = { .answer = answer, .max = request->answer_max };
	struct curl_slist *headers = NULL;
	CURLcode code = CURLE_OK;
	long status = 0;
	int r = http_send(http, request, &headers, &taker, &code, &status);

	http->library.slist_free_all(headers);
	if (r == -EINVAL)
		return error_set(error, r, "the user, password or token has a line break");
	if (r < 0)
		return r;
	if (answer->failed)
		return -ENOMEM;
	if (taker.too_long)
		return error_set(error, -EFBIG, "the answer is longer than %zu bytes",
				 request->answer_max);
	if (code != CURLE_OK)
		return http_explain(http, request->url, code, error);
	*ret_status = (unsigned int)status;
	return 0;
}

#else

struct http {
	int none;
};

int http_new(const struct http_access *access, struct http **ret_http, struct error *error)
{
	return error_set(error, -ENOSYS,
			 "built without libcurl; build it with libcurl4-openssl-dev");
}

struct http *http_free(struct http *http)
{
	free(http);
	return NULL;
}

int http_post(struct http *http, const struct http_request *request, struct buffer *answer,
	      unsigned int *ret_status, struct error *error)
{
	return -ENOSYS;
}

#endif
