/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The terminal of a live screen: the alternate screen, and keys one by one without an echo. However
 * the process ends, except by SIGKILL, the terminal becomes as it was before.
 */

#include <stdint.h>

#include "base/bytes.h"

enum top_key {
	/* The time is over, or the window changed its size. */
	TOP_KEY_NONE = 0,
	/* Other values are characters. */
	TOP_KEY_LEFT = 256,
	TOP_KEY_RIGHT,
	TOP_KEY_UP,
	TOP_KEY_DOWN,
	TOP_KEY_ESCAPE,
	/* The terminal is gone. */
	TOP_KEY_END,
};

/* Standard input and output must be terminals. Returns 0 or a negative errno. */
int top_terminal_open(void);
void top_terminal_close(void);
/* Waits for a key until a moment of CLOCK_MONOTONIC. Returns an enum top_key or a character. */
int top_terminal_key(uint64_t until_ns);
/*
 * Replaces the screen with lines, at most as many as the terminal shows, and puts `status` into the
 * last line. Returns 0 or a negative errno.
 */
int top_terminal_show(const struct buffer *lines, unsigned int height, const char *status);
