/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The message of `record` about an interrupted recording. */

#include <stddef.h>

#include "store/write/store-writer.h"

/* Writes one line without a newline to `text`. */
void recovered_text(const struct store_recovered *recovered, char *text, size_t size);
