// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/time-zone.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FOLDER "/usr/share/zoneinfo"

/* Matches the start of "CET-1" or "<+0330>-3:30"; the rest is not checked. */
static bool is_rule(const char *zone)
{
	size_t size;

	if (*zone == '<') {
		size = strcspn(zone, ">");
		size += zone[size] == '>';
	} else {
		for (size = 0; isalpha((unsigned char)zone[size]);)
			size++;
	}
	if (size < 3)
		return false;
	size += zone[size] == '+' || zone[size] == '-';
	return isdigit((unsigned char)zone[size]);
}

static bool is_file_of_zone(const char *zone)
{
	const char *folder = secure_getenv("TZDIR");
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX], magic[4];
	int size = *zone == '/' ? snprintf(path, sizeof(path), "%s", zone)
				: snprintf(path, sizeof(path), "%s/%s",
					   folder && *folder ? folder : FOLDER, zone);

	if (size >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	       memcmp(magic, "TZif", sizeof(magic)) == 0;
}

bool time_zone_is_known(const char *zone)
{
	/* the C library knows these zones without a zone file */
	static const char *const utc[] = { "UTC", "GMT", "UCT", "Zulu", "Universal", "Etc/UTC" };

	if (zone && *zone == ':')
		zone++;
	if (!zone || !*zone)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(utc); i++)
		if (strcmp(zone, utc[i]) == 0)
			return true;
	return is_rule(zone) || is_file_of_zone(zone);
}
