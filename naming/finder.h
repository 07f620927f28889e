/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the file that a module was mapped from, and verifies the file by device, inode, unchanged
 * times, and its build-id if that is known. The build-id alone is enough only if strangers cannot
 * have put the file at its place (naming/file-owner.h). A name from another file would be worse
 * than a missing name.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "namer/name-helper.h"
#include "tape/tape.h"

enum finder_kind {
	/* A module's file, and the file with its debug symbols. */
	FINDER_FILE,
	/* A process's description of code that it generated: a perf map, a jitdump. */
	FINDER_JIT,
};

struct finder_request {
	enum finder_kind kind;
	/* A process that maps the file; the search begins in this process's root. 0: none. */
	int32_t pid;
	/*
	 * A time on the wall clock. A file that is known only by its inode must not have changed
	 * after this time; 0: any time.
	 */
	uint64_t until_ns;
	/* If the module lacks a build-id, the finder sets it to the file's build-id. */
	struct tape_module module;
	const char *path;
	/*
	 * FINDER_JIT: when the code was first sampled, on the wall clock. A process that began
	 * later is another process. 0: unknown.
	 */
	uint64_t since_ns;
	/*
	 * A number for the owner of the process, who pays for the time to open the file. 0: nobody
	 * pays.
	 */
	uint64_t owner;
};

/* Two descriptors, each of which may be -1. other_fd is the debug file or the jitdump. */
struct finder_files {
	int fd;
	int other_fd;
};
void finder_files_close(struct finder_files *files);

struct finder {
	/* The tape was recorded on this host just now, so its processes may still run. */
	bool live;
	/* Also open files on network and FUSE file systems, because the caller may wait. */
	bool remote;
	/*
	 * A folder of debug files besides /usr/lib/debug, or NULL. Like perf's ~/.debug, it
	 * contains a folder .build-id.
	 */
	const char *debug_dir;
	/*
	 * Reads build-ids and debug links for finder_find_here(). A delegate calls
	 * name_helper_waits() with it while the delegate waits. Borrowed.
	 */
	struct name_helper *helper;
	/*
	 * Finds files in another process, like finder_find_here(). NULL: finds them in this
	 * process.
	 */
	int (*delegate)(void *context, const struct finder *finder, struct finder_request *request,
			struct finder_files *ret_files);
	void *context;
};

/*
 * Finds the files of a request. Returns 0 with at least one file, or an error. -ENOENT: the file is
 * gone. -EACCES: access denied. -ESTALE: another file has its place, or the file changed. -EBADMSG:
 * the file is damaged. -EREMOTE: the file is on a file system that may hang. -ETIMEDOUT: the file
 * did not answer. Also the errors of the naming helper. The caller closes *ret_files.
 */
int finder_find(const struct finder *finder, struct finder_request *request,
		struct finder_files *ret_files);
/* Finds the files of a request in this process. */
int finder_find_here(const struct finder *finder, struct finder_request *request,
		     struct finder_files *ret_files);

/*
 * Returns the text of /proc/kallsyms of the kernel with that build-id: the text of the running
 * kernel, or a text that perf saved. The caller frees *ret_text. Without a build-id (size 0),
 * returns the text of the running kernel, and *ret_sure is false if the tape may be from another
 * kernel. Returns 0, -ENOENT if the text is not available, or another negative errno.
 */
int finder_kallsyms(const struct finder *finder, const uint8_t *build_id, size_t build_id_size,
		    char **ret_text, size_t *ret_size, bool *ret_sure);
/* Returns whether the running kernel has this build-id. */
bool finder_kernel_runs(const uint8_t *build_id, size_t build_id_size);
