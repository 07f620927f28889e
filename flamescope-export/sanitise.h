/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* See flamescope.h for names; this is for the rest. */

#include "base/bytes.h"

/* Any text as a part of a '#' line: valid UTF-8 without control bytes. */
void sanitise_put_value(struct buffer *text, const char *value);
/* The name of a thread's frame, "tid 1262 kubelet". */
void sanitise_put_thread(struct buffer *text, const char *name, int tid);
/* An event's name: one word, never empty. */
void sanitise_put_event(struct buffer *text, const char *event);
