/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The name of the host that an answer is about. It comes from the tapes and not from this machine,
 * because a store may have been imported or handed over.
 */

#include "base/bytes.h"
#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/* Enough for "host ", the names and ", ". */
#define HOST_NAME_SIZE (sizeof(((struct recorded_facts *)NULL)->host) + 16)

/*
 * Reads the name of the host whose root is `root`; "" is this host. The name is "" if the file
 * cannot be read. Characters that could change a terminal become a ?.
 */
void host_name_live(const char *root, char *name, size_t size);
/* Formats "host NAME, " for the begin of a line, or "" if the host is unknown. Returns `text`. */
const char *host_name_prefix(const struct recorded_facts *facts, char text[HOST_NAME_SIZE]);
/*
 * Adds the host of the first and of the last segment in a window, for an answer that does not read
 * samples. Skips segments that cannot be read. Returns 0, or a negative errno without memory.
 */
int host_name_find(struct store_reader *reader, const struct window *window,
		   struct recorded_facts *facts, struct error *error);
