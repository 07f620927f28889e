/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The folder of what is not sealed yet: its files' names, and what is in them. */

#include "base/error.h"
#include "store/disk/segment-row.h"
#include "tape/spool/spool.h"

/* Is this the name of a spool's file? One that was set aside is none. */
bool spool_dir_is_spool(const char *name);

/* Who is recording into the store, as its lock file has it. */
struct spool_dir_writer {
	bool there;
	/* 0 where it is not known */
	int pid;
	char boot_id[40];
	/* tapes of this boot below that number are those of writers before */
	uint64_t first;
};
void spool_dir_find_writer(const char *path, struct spool_dir_writer *ret_writer);

/* The lock file's text. */
int spool_dir_format_writer(const struct spool_dir_writer *writer, uint64_t next, char *text,
			    size_t size);

/*
 * The tape of a spool. Of one that the writer does not fill, as a NULL one fills none, an end that
 * was not written whole is a loss, and one that does not say how its recording ended was killed
 * (TAPE_ENDED_KILLED). The errors of spool_decode(), and those of reading the file.
 */
int spool_dir_load(const char *path, const char *name, const struct spool_dir_writer *writer,
		   struct tape **ret_tape, struct spool_end *ret_end, struct error *error);

/*
 * Describes each spool, those that were set aside too, and hands it on with its tape, NULL for one
 * that cannot be read, which `see` may take. Such as were last written a day and more before the
 * window cannot be in it.
 */
int spool_dir_each(const char *path, uint64_t to_ns,
		   int (*see)(void *context, const struct store_segment *segment,
			      struct tape **tape),
		   void *context, struct error *error);
