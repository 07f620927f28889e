/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A tree of small files in a separate folder, which stands for a host's root. All functions CHECK.
 */

#include <stdlib.h>

#include "base/file.h"
#include "tests/check.h"

struct tree {
	char root[64];
};

static inline void tree_init(struct tree *tree)
{
	strcpy(tree->root, "/tmp/perftape-gauges-XXXXXX");
	CHECK(mkdtemp(tree->root));
}

static inline void tree_done(struct tree *tree)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", tree->root);
	CHECK_EQ(system(command), 0);
}

static inline void tree_folder(const struct tree *tree, const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s%s", tree->root, path);
	CHECK_EQ(file_make_dirs(full, 0755), 0);
}

static inline void tree_put(const struct tree *tree, const char *path, const char *text)
{
	_cleanup_fclose_ FILE *file = NULL;
	char folder[256], full[512];

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	tree_folder(tree, folder);
	snprintf(full, sizeof(full), "%s%s", tree->root, path);
	file = fopen(full, "w");
	CHECK(file && fputs(text, file) >= 0);
}
