// SPDX-License-Identifier: GPL-2.0-only
#include "naming/mounts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

/*
 * Types of remote file systems. Types such as fuse.sshfs are FUSE; autofs mounts any file system
 * when a path in it is accessed.
 */
static const char *const remote_types[] = { "9p",    "acfs",	  "afs",   "autofs",   "beegfs",
					    "ceph",  "cifs",	  "coda",  "fuse",     "fuseblk",
					    "gfs2",  "glusterfs", "gpfs",  "lustre",   "ncpfs",
					    "nfs",   "nfs4",	  "ocfs2", "orangefs", "panfs",
					    "pvfs2", "smb3",	  "smbfs", "virtiofs" };

/* Enough for two paths, and options of at most a page; longer options are truncated. */
#define LINE_SIZE (3 * PATH_MAX)

struct mount {
	uint64_t device;
	char point[PATH_MAX];
	char type[32];
};

/* Decodes \040 and similar codes, which stand for blanks, backslashes and other characters. */
static void mounts_unescape(char *text)
{
	unsigned int byte;
	char *to = text;

	for (; *text; to++) {
		if (text[0] == '\\' && sscanf(text + 1, "%3o", &byte) == 1 && strlen(text) > 3) {
			*to = byte;
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = 0;
}

static bool is_remote_type(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(remote_types); i++)
		if (strcmp(type, remote_types[i]) == 0)
			return true;
	return strncmp(type, "fuse.", 5) == 0;
}

/*
 * Parses "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw". Returns true if the
 * file system may hang.
 */
static bool parse_remote(const char *line, struct mount *ret)
{
	const char *end = strstr(line, " - ");
	unsigned int major, minor;

	if (!end || sscanf(end + 3, "%31s", ret->type) != 1 || !is_remote_type(ret->type) ||
	    sscanf(line, "%*d %*d %u:%u %*s %4095s", &major, &minor, ret->point) != 3)
		return false;
	mounts_unescape(ret->point);
	ret->device = makedev(major, minor);
	return true;
}

static bool is_above(const char *point, const char *path)
{
	size_t size = strlen(point);

	if (strcmp(point, "/") == 0)
		return true;
	return strncmp(path, point, size) == 0 && (!path[size] || path[size] == '/');
}

bool mounts_is_remote(const char *mountinfo, const char *path, uint64_t device,
		      uint64_t root_device)
{
	char line[LINE_SIZE];
	struct mount mount;
	const char *end;

	for (const char *at = mountinfo; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, '\n');
		snprintf(line, sizeof(line), "%.*s", (int)MIN(end - at, LINE_SIZE), at);
		if (parse_remote(line, &mount) && mount.device != root_device &&
		    ((device && mount.device == device) || is_above(mount.point, path)))
			return true;
	}
	return false;
}
