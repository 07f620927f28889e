/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What a process may do beyond its user. A program with file capabilities runs for any user who may
 * execute it, so whatever this user names (a settings file, a folder) must be opened without them.
 * All of this does nothing for root, whose rights come from its user.
 */

#include <stdbool.h>
#include <stdint.h>

/* Returns whether this program got rights from its file, which its caller lacks. */
bool capabilities_come_from_file(void);

/* Reads the permitted set of this thread. Returns 0 or a negative errno. */
int capabilities_permitted(uint64_t *ret_permitted);
/* Sets the permitted and effective set of this thread, and clears the others. */
int capabilities_set(uint64_t permitted, uint64_t effective);

/* Stops using the permitted capabilities of this thread; capabilities_raise() undoes it. */
int capabilities_lower(void);
int capabilities_raise(void);
/*
 * Gives up all capabilities and set-user-ID for good. Call it before there are threads. Returns 0
 * or a negative errno, and then the program must end.
 */
int capabilities_drop(void);
