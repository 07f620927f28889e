/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Where the kernel's own words begin in a message. The kernel quotes users: names of files, mounts
 * and tasks. A user can choose such a name so that a pattern matches within it. So a pattern counts
 * only at the begin of a message, or behind words that the kernel puts in front of it.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns whether a message begins with the name of a task, as "crash[77]: segfault at 0 ... in
 * FILE" does. Nothing in such a message counts, because the user chose its first words, too.
 */
bool kernel_words_name_task(const char *text, size_t size);
/* Returns whether the first `size` bytes of a message are such words, and nothing else. */
bool kernel_words_only(const char *text, size_t size);
