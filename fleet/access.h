/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The file that says how to reach a fleet's server: lines "NAME = VALUE" with the names user,
 * password, token, ca, cert and key. A secret is never on the command line, where all users of the
 * host could read it.
 */

#include "base/error.h"
#include "fleet/http.h"

#define ACCESS_FILE "/etc/perftape/fleet.conf"

struct access {
	/* Points into `text`. */
	struct http_access http;
	char *text;
	size_t size;
};

/*
 * Reads the file. Without a path, reads ACCESS_FILE, which may be absent. Refuses a file with a
 * secret that all users may read. Returns 0, or a negative errno with a text.
 */
int access_read(const char *path, struct access *ret_access, struct error *error);
void access_done(struct access *access);
