/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* flamescope.h declares the functions for names; the functions here sanitise other texts. */

#include "base/bytes.h"

/* Puts any text into a '#' line: valid UTF-8 without control bytes. */
void sanitise_put_value(struct buffer *text, const char *value);
/* Puts the name of a thread's frame, "tid 1262 kubelet". */
void sanitise_put_thread(struct buffer *text, const char *name, int tid);
/* Puts an event's name: one word, never empty. */
void sanitise_put_event(struct buffer *text, const char *event);
