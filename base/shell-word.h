/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A word of a command line that a person may copy. Others choose names of hosts, units and tasks,
 * so a shell must not see anything else in them than a word.
 */

#define SHELL_WORD_SIZE 1100

/* Returns a word for a command line, in quotes where a shell needs them. Cuts a longer word. */
const char *shell_word(const char *name, char text[SHELL_WORD_SIZE]);
