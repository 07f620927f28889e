/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The names of the files in a store's folder, for the reading and the writing side of the store. */

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "tape/segment/segment.h"
#include "store/disk/segment-row.h"

/* The store of root's recorder. */
#define STORE_OF_HOST "/var/lib/perftape"

/*
 * The modes of new files and folders. The umask removes the group's rights unless the store has a
 * group. Members of the group cannot open the lock, because they could otherwise hold it.
 */
#define STORE_FILE_MODE 0640
#define STORE_FOLDER_MODE 0750
#define STORE_LOCK_MODE 0600

#define STORE_INDEX "index.sqlite"
#define STORE_LOCK "lock"
/* A process that seals segments again locks this file. */
#define STORE_RESEAL_LOCK "reseal.lock"
#define STORE_NAMES "names"
#define STORE_NOTES "notes"
#define STORE_REMOVED "gone"
#define STORE_NOTES_LOCK "notes.lock"
/* The file for the bytes of the notes that are not records. */
#define STORE_NOTES_DAMAGED "notes.damaged"
/* Notes beyond their bound, which a writer set aside. */
#define STORE_NOTES_LONG "notes.long"
#define STORE_SEGMENTS "segments"
#define STORE_STATUS "status"
#define STORE_UNSAVED "last-words"
#define STORE_SUFFIX ".tape"
/* Ends the name of the hidden file with which a resealer replaces a segment. */
#define STORE_RESEAL_SUFFIX ".names"
#define STORE_SPOOLS "spool"
#define STORE_SPOOL_SUFFIX ".spool"
/* Ends the name of the mark for a tape that the sealer is naming. */
#define STORE_NAMING_SUFFIX ".naming"
/* Ends the name of a spool that the writer set aside because the spool was unreadable. */
#define STORE_DAMAGED_SUFFIX ".spool.damaged"

/* The maximum size of a segment or spool. A larger file is not ours. */
#define STORE_SEGMENT_MAX (1u << 30)

/*
 * Returns the umask for files of a store: 0077, or 0027 if a person gave the folder to a group. The
 * set-group-id bit shows that.
 */
mode_t store_umask(const char *path);

/*
 * Checks whether a folder is a store, or may become one because it does not exist or is empty.
 * Returns 0, or -ENOTEMPTY with a text if the folder holds other things.
 */
int store_check_folder(const char *path, struct error *error);

/* Writes PATH/NAME to `text`. Returns 0, or -ENAMETOOLONG with an error text. */
int store_file(const char *path, const char *name, char text[PATH_MAX], struct error *error);

/* Returns whether a name ends in the suffix, and is neither hidden nor just the suffix. */
bool store_name_ends(const char *name, const char *suffix);
/*
 * Writes the name of a tape's file to `name`. Returns 0, or -EINVAL if the boot id cannot be part
 * of a name.
 */
int store_name(const char *boot_id, uint64_t sequence, const char *suffix, char name[64]);
/*
 * store_identify() splits a name "BOOT-SEQUENCE.SUFFIX" into the length of the boot id, the length
 * of "BOOT-SEQUENCE", and the number. It returns false if the name is not ours.
 */
struct store_identity {
	size_t boot_size;
	size_t size;
	uint64_t sequence;
};
bool store_identify(const char *name, struct store_identity *ret_identity);
/* Returns whether the name belongs to that boot. *ret_sequence is the number of its tape. */
bool store_is_of_boot(const char *name, const char *boot_id, uint64_t *ret_sequence);
/* Returns whether both names belong to the same tape. */
bool store_same_tape(const char *name, const char *other);

/*
 * Opens a file of one of the folders for reading. Returns 0, -EBADMSG if it is not a plain file, or
 * another negative errno.
 */
int store_open_file(const char *path, const char *folder, const char *name, int *ret_fd,
		    struct error *error);

/* Returns 0, or -ENOTDIR with a message if the store is a file. Such a snapshot never changes. */
int store_check_file(const char *path, struct error *error);

/*
 * Calls see() with each name in a folder of the store. A negative result of see() ends the walk,
 * and the function returns it.
 */
int store_each_name(const char *path, const char *folder,
		    int (*see)(void *context, const char *name), void *context,
		    struct error *error);

/* Fills in the index row of a segment. */
void store_describe(const struct segment_summary *summary, const char *name, uint64_t bytes,
		    struct store_segment *ret_segment);
