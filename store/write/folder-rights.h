/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The rights on a store's folder. Stacks show kernel addresses and what all users run, so only
 * the owner may read them, and a group if a person chose one: its folders then have the
 * set-group-id bit. Nobody else may write there, because a writer of root's would otherwise write
 * what another user prepared.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Checks the folder of a store before a writer uses it. Returns 0, also if the folder does not
 * exist; or -EPERM with a text if it belongs to another user, or to root and others may write.
 */
int folder_rights_check(const char *path, struct error *error);

/*
 * Takes rights of others, which older versions gave, from the folder and from the files in it.
 * Returns 1 if it changed a mode, else 0 or a negative errno.
 */
int folder_rights_tighten(const char *path);

/* Gives the folder to a group, whose members may then read the store. Returns 0 or -errno. */
int folder_rights_set_group(const char *path, gid_t group, struct error *error);
