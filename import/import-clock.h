/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

struct import_file;
struct import_options;

/*
 * Finds the offset of a file's times from the wall clock. The caller must have found the file's
 * times before. Returns 0 or the errno of stat(2).
 */
int import_clock_find(struct import_file *file, const struct import_options *options);

/*
 * Aligns the clocks of files. Files of one host whose clocks agree within their errors come from
 * one boot and one clock. So all of them take the most precise offset, and the gaps between them
 * stay as they were.
 */
void import_clock_align(struct import_file *files, size_t count);
