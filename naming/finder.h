/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the file that a module was mapped from, and makes sure that it is that file: by its
 * build-id, or else by device and inode and by not having been changed since. A name from another
 * file would be worse than none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape/tape.h"

enum finder_kind {
	/* a module's file, and the one with its debug symbols */
	FINDER_FILE,
	/* what a process says about code that it made: a perf map, a jitdump */
	FINDER_JIT,
};

struct finder_request {
	enum finder_kind kind;
	/* a process that has it mapped, in whose root it is looked for first; 0: none */
	int32_t pid;
	/* wall clock after which a file that is known by its inode alone must not have changed; 0:
	 * any time */
	uint64_t until_ns;
	/* gets the build-id of the file where it has none */
	struct tape_module module;
	const char *path;
};

/* Each a descriptor or -1; the second is the debug file's or the jitdump's. */
struct finder_files {
	int fd;
	int other_fd;
};
void finder_files_close(struct finder_files *files);

struct finder {
	/* the tape is of this host at this time: its processes may still run */
	bool live;
	/* files on network and FUSE file systems are opened, too: who asks can wait */
	bool remote;
	/* another one beside /usr/lib/debug, with .build-id in it as perf's ~/.debug has; or NULL
	 */
	const char *debug_dir;
	/* Who looks for files in our place, as finder_find_here() does; NULL: nobody. */
	int (*delegate)(void *context, const struct finder *finder, struct finder_request *request,
			struct finder_files *ret_files);
	void *context;
};

/*
 * 0 with at least one of the files, or why there is none: -ENOENT, it is gone; -EACCES, we may not;
 * -ESTALE, there is another one, or it was changed; -EBADMSG, it is damaged; -EREMOTE, it is where
 * nobody looks who cannot wait; -ETIMEDOUT, it did not answer.
 */
int finder_find(const struct finder *finder, struct finder_request *request,
		struct finder_files *ret_files);
/* The same, here and now. */
int finder_find_here(const struct finder *finder, struct finder_request *request,
		     struct finder_files *ret_files);

/*
 * The text of /proc/kallsyms of the kernel with that build-id: of the one that runs, or as perf
 * kept it; the caller frees it. Without a build-id (size 0) of the one that runs, and *ret_sure is
 * false where that cannot be told to be the one. -ENOENT when there is none.
 */
int finder_kallsyms(const struct finder *finder, const uint8_t *build_id, size_t build_id_size,
		    char **ret_text, size_t *ret_size, bool *ret_sure);
/* Is it the kernel that runs now? */
bool finder_kernel_runs(const uint8_t *build_id, size_t build_id_size);
