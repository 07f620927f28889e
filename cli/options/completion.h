/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Completion scripts for shells, made from the tables of options. A placeholder of the tables says
 * what completes a value: FILE a file, DIR a folder, and words in lower case themselves, such as
 * "auto|always|never". Nothing completes any other placeholder.
 */

#include "base/bytes.h"

/* Puts the script for "bash", "zsh" or "fish". Returns false for any other shell. */
bool completion_put(const char *shell, struct buffer *text);
