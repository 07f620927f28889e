/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Relays the standard output and error of a child process to ours. In "perftape audit | jq", jq
 * waits until all writers close the pipe, and a child that hangs in the kernel never closes it. So
 * the child gets pipes of its own. It keeps terminals and files, because nothing waits for their
 * end.
 */

#define RELAYS 2

struct output_relay {
	/* Our descriptor. */
	int to;
	/* Our end and the child's end of the pipe; -1: closed. */
	int from, child_end;
};

/* Call it before the fork. Returns 0 or a negative errno; call relays_done() in either case. */
int relays_open(struct output_relay relays[RELAYS]);
/*
 * Call it in the child: redirects its output to the relays and its input from /dev/null. Closes all
 * other descriptors except `keep`.
 */
void relays_enter(struct output_relay relays[RELAYS], int keep);
/* Call it in the parent, after the fork. */
void relays_begin(struct output_relay relays[RELAYS]);
/* Relays the output so far; never waits. */
void relays_take(struct output_relay relays[RELAYS]);
void relays_done(struct output_relay relays[RELAYS]);
