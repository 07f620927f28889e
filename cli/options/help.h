/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* --help: lists the commands, or the options of one command. */

#include "cli/options/command.h"

/* Prints the help of a command, or of the program for NULL. Wraps it on a terminal. */
void help_print(const struct command *command);
