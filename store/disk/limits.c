// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/limits.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "store/disk/notes.h"

/*
 * Finds the file system of a store. If the folder does not exist yet, asks for its nearest existing
 * parent, which is on the same file system.
 */
static int limits_stat_filesystem(const char *path, struct statvfs *ret_about)
{
	char copy[PATH_MAX];
	const char *above;

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	while (statvfs(copy, ret_about) < 0) {
		if (errno != ENOENT || strcmp(copy, "/") == 0 || strcmp(copy, ".") == 0)
			return -errno;
		/* dirname() truncates the copy itself, or returns a constant */
		above = dirname(copy);
		memmove(copy, above, strlen(above) + 1);
	}
	return 0;
}

int store_disk_bytes(const char *path, uint64_t *ret_bytes, struct error *error)
{
	struct statvfs about;
	int r = limits_stat_filesystem(path, &about);

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

struct settings {
	struct store_limits *limits;
	bool there;
};

static int limits_see_note(void *context, const struct note *note)
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

int store_limits_read(const char *path, struct store_limits *ret_limits, struct error *error)
{
	struct settings settings = { .limits = ret_limits };
	uint64_t damaged;
	int r = notes_read(path, limits_see_note, &settings, &damaged, error);

	return r < 0 ? r : settings.there;
}

int store_limits_append(const char *path, const struct store_limits *limits, struct error *error)
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
