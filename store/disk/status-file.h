/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The file in which a recorder tells of itself; see store_writer_tell() and store_reader_status().
 */

/* Of a recorder that ends, or of one before us. */
void status_file_remove(const char *path);
