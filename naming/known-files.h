/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Keeps the files of modules, and the names found in them, from one tape to the next. Private to
 * naming/.
 */

#include <sys/stat.h>

#include "base/table.h"
#include "symbolizer/addresses.h"
#include "tape/tape.h"

struct known_file {
	char *path;
	/* The module as in the tape. */
	struct tape_module module;
	/* The module with the build-id of its file. */
	struct tape_module found;
	struct addresses answers;
	/* The file that gave the answers. */
	struct stat about;
	/* The file was searched for the current tape. */
	bool searched;
	/* enum unnamed_reason, for addresses without a name. */
	uint8_t reason;
	/* The current tape uses the module. */
	bool used;
	/* The helper could not cope with the file, so the namer does not ask it again. */
	bool feared;
};

/* Starts zeroed. */
struct known_files {
	array_of(struct known_file) list;
	struct table table;
};

void known_files_done(struct known_files *files);
/*
 * Finds or adds the file of a module. Returns 0 or -ENOMEM. *ret_file is valid until the next call.
 */
int known_files_get(struct known_files *files, const struct tape_module *module, const char *path,
		    struct known_file **ret_file);
/*
 * Notes the file of a module. If another file gave the answers, or the file has changed since,
 * forgets all answers, because the same inode may get other content.
 */
void known_file_identify(struct known_file *known, const struct stat *about);
/*
 * Drops files that the current tape does not use or that lack answers, so that files do not
 * accumulate over months of recording. Returns 0 or -ENOMEM.
 */
int known_files_drop_unused(struct known_files *files);
