/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

struct import_file;
struct import_options;

/* Where a file's times lie on the wall clock; its own times must be known. 0 or the errno of
 * stat(2). */
int import_clock_find(struct import_file *file, const struct import_options *options);

/*
 * Files of one host whose clocks agree within their errors were recorded in one boot, on one clock:
 * all of them take the offset of the one that is surest, so that the gaps between them are what
 * they were.
 */
void import_clock_align(struct import_file *files, size_t count);
