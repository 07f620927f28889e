/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A tree of files below /dev/shm that stands for a host's root. It is made once, and removed at the
 * end of the process.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

static char root[64];

static void put(const char *path, const void *data, size_t size)
{
	_cleanup_fclose_ FILE *file = NULL;
	char full[128];

	snprintf(full, sizeof(full), "%s%s", root, path);
	file = fopen(full, "w");
	if (!file || fwrite(data, 1, size, file) != size)
		abort();
}

static inline void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

static void remove_root(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	if (system(command) != 0)
		abort();
}

static void make_root(const char *const *folders, size_t count)
{
	char full[128];

	snprintf(root, sizeof(root), "/dev/shm/perftape-fuzz-XXXXXX");
	if (!mkdtemp(root))
		abort();
	atexit(remove_root);
	for (size_t i = 0; i < count; i++) {
		snprintf(full, sizeof(full), "%s%s", root, folders[i]);
		if (file_make_dirs(full, 0700) < 0)
			abort();
	}
}
