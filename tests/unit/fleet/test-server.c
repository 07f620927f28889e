// SPDX-License-Identifier: GPL-2.0-only
/* URLs of servers: what is taken, and that no message repeats a password. */
#include "tests/check.h"

#include <errno.h>

#include "fleet/server.h"

static void test_taken(void)
{
	struct server_address address;
	struct error error = { 0 };

	CHECK_EQ(server_parse("https://me@host:8443/base_1", &address, &error), 0);
	CHECK_STR(address.base, "https://host:8443");
	CHECK_STR(address.user, "me");
	CHECK_STR(address.database, "base_1");
	CHECK_EQ(server_parse("http://[::1]:8123", &address, &error), 0);
	CHECK_STR(address.base, "http://[::1]:8123");
	CHECK_STR(address.user, "");
	CHECK_STR(address.database, SERVER_DATABASE);
}

static void test_refused(void)
{
	static const char *const urls[] = {
		"clickhouse://me:secret@host/base", "me:secret@host",
		"https://me:secret@host/base",	    "https://me@host:secret@elsewhere",
		"https://host?password=secret",	    "https://host/base?password=secret",
		"https://host/base/secret",	    "https:///secret",
	};

	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		struct server_address address;
		struct error error = { 0 };

		CHECK_EQ(server_parse(urls[i], &address, &error), -EINVAL);
		CHECK(*error.text && !strstr(error.text, "secret"));
	}
}

CHECK_MAIN({ "a URL has a host, and may have a user and a database", test_taken },
	   { "a URL that is refused is not repeated", test_refused })
