/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Completion scripts for shells, made from the tables of options. A placeholder in a table says how
 * to complete a value: FILE with a file, DIR with a folder, and a list in lower case, such as
 * "auto|always|never", with its words. Any other placeholder is not completed.
 */

#include "base/bytes.h"

/* Puts the script for "bash", "zsh" or "fish". Returns false for any other shell. */
bool completion_put(const char *shell, struct buffer *text);
