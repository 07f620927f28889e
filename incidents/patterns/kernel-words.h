/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds where the kernel's own words begin in a message. The kernel quotes names that users choose:
 * of files, mounts and tasks. A user can choose a name so that a pattern matches within the name.
 * So a pattern counts only at the begin of a message, or behind words that the kernel puts before
 * the text.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns whether a message begins with the name of a task, as "crash[77]: segfault at 0 ... in
 * FILE" does. A user chose this name, so a user chose the first words of the message. Text that the
 * kernel quotes is far behind them.
 */
bool kernel_words_name_task(const char *text, size_t size);
/*
 * Returns whether a message quotes a path so early that the words before it could be the name of a
 * task: "process '/tmp/x invoked oom-killer: ...' started with executable stack".
 */
bool kernel_words_quote_path(const char *text, size_t size);
/*
 * Returns whether the first `size` bytes of a message consist only of words that the kernel puts
 * before the text.
 */
bool kernel_words_only(const char *text, size_t size);
