// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/access.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

#define ACCESS_LIMIT 65536

void access_done(struct access *access)
{
	/* a secret must not stay in freed memory; the text has a NUL after each line */
	if (access->text)
		explicit_bzero(access->text, access->size);
	free(access->text);
	*access = (struct access){ 0 };
}

static char *access_trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static const char **access_setting(struct http_access *http, const char *name)
{
	const struct {
		const char *name;
		const char **value;
	} settings[] = {
		{ "user", &http->user }, { "password", &http->password }, { "token", &http->token },
		{ "ca", &http->ca },	 { "cert", &http->cert },	  { "key", &http->key },
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (strcmp(settings[i].name, name) == 0)
			return settings[i].value;
	return NULL;
}

static int access_take_line(struct access *access, const char *path, unsigned int number,
			    char *line, struct error *error)
{
	char *value = strchr(line, '=');
	const char **setting;

	line = access_trim(line);
	if (!*line || *line == '#')
		return 0;
	if (!value)
		return error_set(error, -EINVAL, "%s:%u: not a setting; write NAME = VALUE", path,
				 number);
	*value++ = 0;
	setting = access_setting(&access->http, access_trim(line));
	if (!setting)
		return error_set(
			error, -EINVAL,
			"%s:%u: unknown setting; known are user, password, token, ca, cert and key",
			path, number);
	*setting = access_trim(value);
	return 0;
}

/* Refuses a file that gives a secret away. */
static int access_check_rights(const struct access *access, const char *path, struct error *error)
{
	struct stat about;

	if (!access->http.password && !access->http.token)
		return 0;
	if (stat(path, &about) < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	if (about.st_mode & S_IROTH)
		return error_set(error, -EPERM,
				 "%s: all users may read this secret; run: chmod o-r %s", path,
				 path);
	return 0;
}

int access_read(const char *path, struct access *ret_access, struct error *error)
{
	_cleanup_(access_done) struct access access = { 0 };
	const char *from = path ? path : ACCESS_FILE;
	unsigned int number = 0;
	char *rest;
	int r = file_read(from, ACCESS_LIMIT, &access.text, &access.size);

	if (r == -ENOENT && !path) {
		*ret_access = (struct access){ 0 };
		return 0;
	}
	if (r < 0)
		return error_set(error, r, "%s: %s", from, strerror(-r));
	rest = access.text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		r = access_take_line(&access, from, ++number, line, error);
		if (r < 0)
			return r;
	}
	r = access_check_rights(&access, from, error);
	if (r < 0)
		return r;
	*ret_access = access;
	access.text = NULL;
	return 0;
}
