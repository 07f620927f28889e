/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds the command that the arguments name, and parses the options by the command's table. */

#include "cli/options/command.h"

/*
 * Parses arguments, which end with NULL. The caller provides the array of words, with room for all
 * arguments. An invocation that has a command already needs no name of a command among the
 * arguments. Borrows the arguments. Returns EXIT_DONE, or EXIT_USAGE after a message.
 */
int arguments_parse(char **words, struct invocation *invocation);
