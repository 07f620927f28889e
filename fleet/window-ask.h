/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Asks a server for all samples of a host in a window. */

#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "fleet/server.h"

enum window_held {
	WINDOW_HELD_NOTHING,
	WINDOW_HELD_SAMPLES,
	/* The server has only the sums of the window's minutes. */
	WINDOW_HELD_SUMS,
};

/*
 * Appends the tapes of the window, as in a .tape file. Returns an enum window_held, or a negative
 * errno with a text.
 */
int window_ask(struct server *server, const char *host, uint64_t from_ns, uint64_t to_ns,
	       struct buffer *tapes, struct error *error);
