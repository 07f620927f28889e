/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The rights on a store's folder. Stacks show kernel addresses and the programs of all users. So
 * only the owner may read the store, and a group if a person chose one. Folders for a group have
 * the set-group-id bit. Only the owner may write there, because root's writer could otherwise
 * follow files that another user prepared.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Checks the folder of a store before a writer uses it. Returns 0, also if the folder does not
 * exist; or -EPERM with a text if the folder belongs to another user, or to root and others may
 * write to it. Also returns -EPERM if we are root and another user could replace the folder.
 */
int folder_rights_check(const char *path, struct error *error);

/*
 * Removes the rights of others, which older versions gave, from the folder and its files. Returns 1
 * if it changed a mode, else 0 or a negative errno.
 */
int folder_rights_tighten(const char *path);

/*
 * Gives the store to a group, whose members may then read new and existing files. Files of other
 * owners stay as they are. Returns 0 or -errno.
 */
int folder_rights_set_group(const char *path, gid_t group, struct error *error);
