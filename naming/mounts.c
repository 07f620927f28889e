// SPDX-License-Identifier: GPL-2.0-only
#include "naming/mounts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/*
 * A part of the text, without a NUL. It points into the text, because a line may be longer than any
 * buffer.
 */
struct field {
	const char *text;
	size_t size;
};

struct mount {
	uint64_t id;
	uint64_t device;
	struct field type;
	/* "rw,lowerdir=/a:/b" */
	struct field options;
	char point[PATH_MAX];
};

/*
 * Takes the next field of a line, which ends at a blank. The field is empty at the end of the line.
 */
static struct field mounts_take_field(struct field *line)
{
	const char *blank = memchr(line->text, ' ', line->size);
	struct field field = { line->text, blank ? (size_t)(blank - line->text) : line->size };
	size_t taken = MIN(field.size + 1, line->size);

	line->text += taken;
	line->size -= taken;
	return field;
}

static bool mounts_is_octal(const char *digits)
{
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' &&
	       digits[2] >= '0' && digits[2] <= '7';
}

/*
 * Decodes \040 and similar codes, which stand for blanks, backslashes and other characters.
 * Truncates a path that is longer than PATH_MAX.
 */
static void mounts_unescape(struct field field, char path[PATH_MAX])
{
	size_t size = 0;

	for (size_t i = 0; i < field.size && size < PATH_MAX - 1; i++) {
		const char *at = field.text + i;

		if (*at == '\\' && field.size - i > 3 && mounts_is_octal(at + 1)) {
			path[size++] = (at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0');
			i += 3;
		} else {
			path[size++] = *at;
		}
	}
	path[size] = 0;
}

static bool is_remote_type(struct field type)
{
	for (size_t i = 0; i < ARRAY_SIZE(remote_types); i++)
		if (type.size == strlen(remote_types[i]) &&
		    memcmp(type.text, remote_types[i], type.size) == 0)
			return true;
	return type.size > 5 && memcmp(type.text, "fuse.", 5) == 0;
}

/* Parses "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw". */
static bool mounts_parse_one(struct field line, struct mount *ret)
{
	struct field id = mounts_take_field(&line), numbers, point, field;
	unsigned int major, minor;
	char text[32];

	snprintf(text, sizeof(text), "%.*s", (int)MIN(id.size, sizeof(text) - 1), id.text);
	ret->id = strtoull(text, NULL, 10);
	mounts_take_field(&line);
	numbers = mounts_take_field(&line);
	snprintf(text, sizeof(text), "%.*s", (int)MIN(numbers.size, sizeof(text) - 1),
		 numbers.text);
	mounts_take_field(&line);
	point = mounts_take_field(&line);
	do
		field = mounts_take_field(&line);
	while (line.size && !(field.size == 1 && *field.text == '-'));
	ret->type = mounts_take_field(&line);
	mounts_take_field(&line);
	ret->options = mounts_take_field(&line);
	if (!ret->type.size || sscanf(text, "%u:%u", &major, &minor) != 2)
		return false;
	mounts_unescape(point, ret->point);
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

/* Returns the next line of a list in *ret_line, or false at the end. */
static bool mounts_next_line(const char **list, struct field *ret_line)
{
	const char *end = strchrnul(*list, '\n');

	if (!**list)
		return false;
	*ret_line = (struct field){ *list, end - *list };
	*list = *end ? end + 1 : end;
	return true;
}

/* Returns whether a path lies on a mount of a remote type. */
static bool mounts_is_path_remote(const char *list, const char *path, uint64_t root_device)
{
	struct mount mount;
	struct field line;

	while (mounts_next_line(&list, &line))
		if (mounts_parse_one(line, &mount) && is_remote_type(mount.type) &&
		    mount.device != root_device && is_above(mount.point, path))
			return true;
	return false;
}

/* Checks each folder of "/a:/b". The name of a folder may contain an escaped colon. */
static bool mounts_is_layer_remote(struct field layers, const char *host, uint64_t root_device)
{
	char path[PATH_MAX];

	while (layers.size) {
		struct field layer = { layers.text, 0 };

		while (layer.size < layers.size &&
		       (layer.text[layer.size] != ':' ||
			(layer.size && layer.text[layer.size - 1] == '\\')))
			layer.size++;
		mounts_unescape(layer, path);
		if (*path == '/' && mounts_is_path_remote(host, path, root_device))
			return true;
		layers.text += MIN(layer.size + 1, layers.size);
		layers.size -= MIN(layer.size + 1, layers.size);
	}
	return false;
}

static bool mounts_is_overlay(const struct mount *mount)
{
	return mount->type.size == 7 && memcmp(mount->type.text, "overlay", 7) == 0;
}

static bool mounts_has_overlay(const char *list, uint64_t device)
{
	struct mount mount;
	struct field line;

	while (mounts_next_line(&list, &line))
		if (mounts_parse_one(line, &mount) && mounts_is_overlay(&mount) &&
		    mount.device == device)
			return true;
	return false;
}

/*
 * Returns whether a layer of an overlay may lie on a remote file system. A container runtime mounts
 * overlays among the mounts of the host. If the host lacks an overlay, root in a container mounted
 * it, and may have hidden the mounts of its layers. Such an overlay counts as remote.
 */
static bool mounts_is_overlay_remote(const struct mount *mount, const char *host,
				     uint64_t root_device)
{
	static const char *const keys[] = { "lowerdir=", "lowerdir+=", "datadir+=", "upperdir=" };
	const char *at = mount->options.text, *end = at + mount->options.size;

	if (!mounts_is_overlay(mount))
		return false;
	if (!mounts_has_overlay(host, mount->device))
		return true;
	for (const char *comma; at < end; at = comma + 1) {
		comma = memchr(at, ',', end - at);
		comma = comma ? comma : end;
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			size_t size = strlen(keys[i]);
			struct field layers = { at + size, comma - at - size };

			if ((size_t)(comma - at) > size && memcmp(at, keys[i], size) == 0 &&
			    mounts_is_layer_remote(layers, host, root_device))
				return true;
		}
	}
	return false;
}

bool mounts_is_remote(const char *mountinfo, const char *host, const char *path, uint64_t device,
		      uint64_t root_device)
{
	struct mount mount;
	struct field line;

	while (mounts_next_line(&mountinfo, &line)) {
		if (!mounts_parse_one(line, &mount) || mount.device == root_device ||
		    (!(device && mount.device == device) && !is_above(mount.point, path)))
			continue;
		if (is_remote_type(mount.type) ||
		    mounts_is_overlay_remote(&mount, host, root_device))
			return true;
	}
	return false;
}

static bool mounts_find(const char *list, uint64_t id, struct mount *ret_mount)
{
	struct field line;

	while (mounts_next_line(&list, &line))
		if (mounts_parse_one(line, ret_mount) && ret_mount->id == id)
			return true;
	return false;
}

static bool mounts_find_device(const char *list, uint64_t device, struct mount *ret_mount)
{
	struct field line;

	while (device && mounts_next_line(&list, &line))
		if (mounts_parse_one(line, ret_mount) && ret_mount->device == device)
			return true;
	return false;
}

bool mounts_is_mount_remote(const char *mountinfo, const char *host, uint64_t id, uint64_t device,
			    uint64_t root_device)
{
	struct mount mount;

	if (!mounts_find(mountinfo, id, &mount) && !mounts_find(host, id, &mount) &&
	    !mounts_find_device(mountinfo, device, &mount) &&
	    !mounts_find_device(host, device, &mount))
		return true;
	return mount.device != root_device &&
	       (is_remote_type(mount.type) || mounts_is_overlay_remote(&mount, host, root_device));
}
