/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The name of the host that an answer is about. It comes from the tapes and not from this machine,
 * because a store may have been imported or handed over.
 */

#include "base/bytes.h"
#include "base/error.h"
#include "cli/options/command.h"
#include "draw/terminal.h"
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
/* Adds the name of this host. */
void host_name_own(struct recorded_facts *facts);
/* Formats the name of this host for the begin of a line, like host_name_prefix(). */
const char *host_name_own_prefix(char text[HOST_NAME_SIZE]);
/* Formats "host NAME, " for the begin of a line, or "" if the host is unknown. Returns `text`. */
const char *host_name_prefix(const struct recorded_facts *facts, char text[HOST_NAME_SIZE]);
/*
 * Appends "host NAME, window FROM to TO" as the first line of a table; only a part of it if the
 * host is unknown or `window` is NULL. It goes to standard output with the table, because a file
 * that keeps the table must say whose table it is. Returns the number of lines on the terminal.
 */
unsigned int host_name_put_head(const struct invocation *invocation,
				const struct recorded_facts *facts, const struct window *window,
				const struct terminal *terminal, struct buffer *text);
