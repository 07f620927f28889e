/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Capabilities: rights of a process beyond those of its user. Any user who may execute a program
 * with file capabilities gets them. So the program must not use them to open a file or folder that
 * this user names. These functions do nothing for root, whose rights come from its user.
 */

#include <stdbool.h>
#include <stdint.h>

/* Returns whether this program got rights from its file, which its caller lacks. */
bool capabilities_come_from_file(void);

/* Reads the permitted set of this thread. Returns 0 or a negative errno. */
int capabilities_permitted(uint64_t *ret_permitted);
/* Sets the permitted and effective set of this thread, and clears the others. */
int capabilities_set(uint64_t permitted, uint64_t effective);

/* Stops using the permitted capabilities of this thread, until capabilities_raise(). */
int capabilities_lower(void);
int capabilities_raise(void);
/*
 * Gives up all capabilities and set-user-ID for good. Call it before the process has threads.
 * Returns 0; or a negative errno, and then the program must end.
 */
int capabilities_drop(void);
