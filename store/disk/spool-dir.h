/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The folder of unsealed tapes: the names of its files, and their contents. */

#include "base/error.h"
#include "store/disk/segment-row.h"
#include "tape/spool/spool.h"

/*
 * Returns whether this is the name of a spool. Returns false for spools that the writer set aside.
 */
bool spool_dir_is_spool(const char *name);

/* The process that records into the store, according to its lock file. */
struct spool_dir_writer {
	bool there;
	/* 0 if unknown. */
	int pid;
	char boot_id[40];
	/* Tapes of this boot below this number belong to earlier writers. */
	uint64_t first;
};
void spool_dir_find_writer(const char *path, struct spool_dir_writer *ret_writer);

/* Formats the text of the lock file. */
int spool_dir_format_writer(const struct spool_dir_writer *writer, uint64_t next, char *text,
			    size_t size);

/*
 * Loads the tape of a spool. `writer` may be NULL. For a spool that the writer does not fill, an
 * incomplete end becomes a loss. If such a spool does not say how its recording ended, the recorder
 * was killed (TAPE_ENDED_KILLED). Returns the errors of spool_decode() and of reading the file.
 */
int spool_dir_load(const char *path, const char *name, const struct spool_dir_writer *writer,
		   struct tape **ret_tape, struct spool_end *ret_end, struct error *error);

/*
 * Calls see() with the description and the tape of each spool, including spools that the writer set
 * aside. The tape is NULL if the spool is unreadable. see() may take ownership of the tape. Skips
 * spools whose last write was at least a day before the window.
 */
int spool_dir_each(const char *path, uint64_t to_ns,
		   int (*see)(void *context, const struct store_segment *segment,
			      struct tape **tape),
		   void *context, struct error *error);
