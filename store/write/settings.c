// SPDX-License-Identifier: GPL-2.0-only
#include "store/write/settings.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/size.h"
#include "store/disk/files.h"
#include "store/disk/notes.h"
#include "store/write/store-writer.h"

/* A store's folder may not be there yet: the nearest one above it is on the same file system. */
static int stat_filesystem(const char *path, struct statvfs *ret_about)
{
	char copy[PATH_MAX];
	const char *above;

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	while (statvfs(copy, ret_about) < 0) {
		if (errno != ENOENT || strcmp(copy, "/") == 0 || strcmp(copy, ".") == 0)
			return -errno;
		/* dirname() cuts the copy itself, or gives back a constant */
		above = dirname(copy);
		memmove(copy, above, strlen(above) + 1);
	}
	return 0;
}

int store_disk_bytes(const char *path, uint64_t *ret_bytes, struct error *error)
{
	struct statvfs about;
	int r = stat_filesystem(path, &about);

	if (r < 0)
		return error_set(error, r, "%s: %s", path, strerror(-r));
	*ret_bytes = (uint64_t)about.f_blocks * about.f_frsize;
	return 0;
}

void store_limits_default(const char *path, struct store_limits *ret_limits)
{
	uint64_t disk_bytes;

	*ret_limits = (struct store_limits){
		.max_age_ns = UINT64_MAX,
		.max_bytes = STORE_MAX_BYTES,
		.keep_free_bytes = STORE_KEEP_FREE_BYTES,
		.pin_ns = STORE_PIN_NS,
	};
	if (store_disk_bytes(path, &disk_bytes, NULL) == 0)
		ret_limits->keep_free_bytes = MIN(STORE_KEEP_FREE_BYTES, disk_bytes / 20);
}

bool store_space_describe(const struct store_limits *limits, const struct store_retained *retained,
			  struct error *ret_text)
{
	char left[32], wanted[32], taken[32], removed[32], disk[32];

	if (!retained->starved && !retained->for_space)
		return false;
	size_format(retained->free_bytes, left, sizeof(left));
	size_format(limits->keep_free_bytes, wanted, sizeof(wanted));
	size_format(retained->bytes + retained->removed_bytes, taken, sizeof(taken));
	size_format(retained->for_space_bytes, removed, sizeof(removed));
	size_format(retained->disk_bytes, disk, sizeof(disk));
	if (retained->starved && limits->keep_free_bytes >= retained->disk_bytes)
		error_set(
			ret_text, 0,
			"%s of the disk should be free, and it holds no more than %s: that cannot be had, so the store is kept from growing instead; give a smaller --keep-free",
			wanted, disk);
	else if (retained->starved)
		error_set(
			ret_text, 0,
			"%s of the disk are free, and %s should be; the store takes %s of it, others the rest: removing what was recorded would not help, so the store is kept from growing instead; make room, or give a smaller --keep-free",
			left, wanted, taken);
	else
		error_set(
			ret_text, 0,
			"%s of the disk are free, and %s should be; the store takes %s of it, others the rest: the oldest %llu segment%s, %s, had to go for that",
			left, wanted, taken, (unsigned long long)retained->for_space,
			retained->for_space == 1 ? "" : "s", removed);
	return true;
}

struct settings {
	struct store_limits *limits;
	bool there;
};

static int see_settings(void *context, const struct note *note)
{
	struct settings *settings = context;
	struct store_limits *limits = settings->limits;

	if (note->kind != NOTES_SETTINGS)
		return 0;
	limits->max_age_ns = note_u64(note, "max_age_ns", limits->max_age_ns);
	limits->max_bytes = note_u64(note, "max_bytes", limits->max_bytes);
	limits->keep_free_bytes = note_u64(note, "keep_free_bytes", limits->keep_free_bytes);
	limits->pin_ns = note_u64(note, "pin_ns", limits->pin_ns);
	settings->there = true;
	return 0;
}

int settings_read(const char *path, struct store_limits *limits, struct error *error)
{
	struct settings settings = { .limits = limits };
	uint64_t damaged;
	int r = notes_read(path, see_settings, &settings, &damaged, error);

	return r < 0 ? r : settings.there;
}

int settings_append(const char *path, const struct store_limits *limits, struct error *error)
{
	const uint64_t numbers[] = {
		limits->max_age_ns,
		limits->max_bytes,
		limits->keep_free_bytes,
		limits->pin_ns,
	};
	char texts[ARRAY_SIZE(numbers)][24];
	const struct notes_field fields[] = {
		{ "max_age_ns", texts[0] },
		{ "max_bytes", texts[1] },
		{ "keep_free_bytes", texts[2] },
		{ "pin_ns", texts[3] },
	};
	struct note note = {
		.kind = NOTES_SETTINGS,
		.realtime_ns = clock_ns(CLOCK_REALTIME),
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		snprintf(texts[i], sizeof(texts[i]), "%llu", (unsigned long long)numbers[i]);
	return notes_append(path, &note, error);
}

uint64_t store_taken(uint64_t bytes)
{
	static const uint64_t block_bytes = 4096;

	return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

struct bytes_of {
	const char *path;
	const char *folder;
	uint64_t bytes, taken_bytes;
};

/* The WAL is in the index sooner or later: what comes and goes by itself must not cost segments. */
static bool is_beside_index(const char *name)
{
	return strcmp(name, STORE_INDEX "-wal") == 0 || strcmp(name, STORE_INDEX "-shm") == 0;
}

/* A file that is gone by now takes nothing. */
static int settings_add_bytes(void *context, const char *name)
{
	struct bytes_of *of = context;
	char file[PATH_MAX];
	struct stat about;

	if (snprintf(file, sizeof(file), "%s/%s/%s", of->path, of->folder, name) >=
		    (int)sizeof(file) ||
	    lstat(file, &about) < 0 || !S_ISREG(about.st_mode))
		return 0;
	of->taken_bytes += store_taken(about.st_size);
	if (!is_beside_index(name))
		of->bytes += about.st_size;
	return 0;
}

int store_other_bytes(const char *path, uint64_t *ret_bytes, uint64_t *ret_taken_bytes,
		      struct error *error)
{
	static const char *const folders[] = { ".", STORE_SPOOLS, STORE_NAMES };
	struct bytes_of of = { .path = path };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		int r;

		of.folder = folders[i];
		r = store_each_name(path, folders[i], settings_add_bytes, &of, error);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	*ret_bytes = of.bytes;
	*ret_taken_bytes = of.taken_bytes;
	return 0;
}
