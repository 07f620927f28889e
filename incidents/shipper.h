/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What shippers of logs put around a line: each is taken off as a whole, or the taker stays where it is. */

#include "incidents/stamp.h"

/* "{job="x", host="y"}", the labels of Loki; those that other { begin are JSON */
bool take_labels(struct taker *taker);
/* "stdout F ", which container runtimes put behind their stamp. */
bool take_stream(struct taker *taker);
/*
 * aws logs --output text: "EVENTS TAKEN-IN MESSAGE SAID" of get-log-events, and "EVENTS ID TAKEN-IN STREAM MESSAGE SAID" of
 * filter-log-events, with tabs between them.
 */
bool take_events(struct taker *taker, struct stamp *ret_stamp);
