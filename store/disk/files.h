/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Where things are in a store's folder, for the two sides of the store. */

#include <limits.h>
#include <stdint.h>

#include "base/error.h"
#include "tape/segment/segment.h"
#include "store/disk/segment-row.h"

#define STORE_INDEX "index.sqlite"
#define STORE_LOCK "lock"
#define STORE_NAMES "names"
#define STORE_NOTES "notes"
#define STORE_GONE "gone"
/* Bytes of the notes that were no records. */
#define STORE_NOTES_DAMAGED "notes.damaged"
#define STORE_SEGMENTS "segments"
#define STORE_STATUS "status"
#define STORE_LAST_WORDS "last-words"
#define STORE_SUFFIX ".tape"
/* Behind that of a segment, hidden: what is to take its place. */
#define STORE_RESEAL_SUFFIX ".names"
#define STORE_SPOOLS "spool"
#define STORE_SPOOL_SUFFIX ".spool"
/* A spool that could not be read at all. */
#define STORE_DAMAGED_SUFFIX ".spool.damaged"

/* No segment is larger, and no spool; a file that is has not come from us. */
#define STORE_SEGMENT_MAX (1u << 30)

/* PATH/NAME in text. -ENAMETOOLONG with an error text. */
int store_file(const char *path, const char *name, char text[PATH_MAX], struct error *error);

/* Does the name, which is of a file of ours and not hidden, end so? */
bool store_name_ends(const char *name, const char *suffix);
/* The name of a tape's file. -EINVAL for a boot id that no name can be made of. */
int store_name(const char *boot_id, uint64_t sequence, const char *suffix, char name[64]);
/*
 * The identity in a name, "BOOT-SEQUENCE" and a suffix: how many characters the boot has, those of
 * "BOOT-SEQUENCE", and the number. False for a name that is not ours.
 */
struct store_identity {
	size_t boot_size;
	size_t size;
	uint64_t sequence;
};
bool store_identify(const char *name, struct store_identity *ret_identity);
/* Is it a file of that boot? *ret_sequence is its tape's number. */
bool store_is_of_boot(const char *name, const char *boot_id, uint64_t *ret_sequence);
/* Are both files of one tape? */
bool store_same_tape(const char *name, const char *other);

/* Opens a file of one of the folders for reading. -EBADMSG when it is no plain file. */
int store_open_file(const char *path, const char *folder, const char *name, int *ret_fd,
		    struct error *error);

/* Calls `see` with each name in a folder of the store; a negative answer ends it and is handed on.
 */
int store_each_name(const char *path, const char *folder,
		    int (*see)(void *context, const char *name), void *context,
		    struct error *error);

/* The index row that belongs to a segment. */
void store_describe(const struct segment_summary *summary, const char *name, uint64_t bytes,
		    struct store_segment *ret_segment);
