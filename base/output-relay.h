/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Relays the standard output and error of a child process to ours. In "perftape audit | jq", jq
 * waits until all writers close the pipe, and a child that hangs in the kernel never closes it. So
 * the child writes to separate pipes. The child writes directly to a terminal or a file, because
 * their readers do not wait for writers. If standard output and error are the same pipe, as in
 * "perftape audit 2>&1 | less", the child has one pipe for both, which keeps the order of its
 * lines.
 */

#define RELAYS 2

struct output_relay {
	/* Our descriptor. */
	int to;
	/* Our end and the child's end of the pipe; -1: closed, or another relay has our end. */
	int from, child_end;
};

/*
 * Opens the relays. Call it before the fork. Returns 0 or a negative errno; call relays_done() in
 * either case.
 */
int relays_open(struct output_relay relays[RELAYS]);
/*
 * Redirects the output of the child to the relays and its input from /dev/null. Closes all other
 * descriptors except `keep`. Call it in the child.
 */
void relays_enter(struct output_relay relays[RELAYS], int keep);
/* Closes the child's ends of the pipes. Call it in the parent, after the fork. */
void relays_begin(struct output_relay relays[RELAYS]);
/* Relays the output that the child has written so far. Never waits. */
void relays_take(struct output_relay relays[RELAYS]);
void relays_done(struct output_relay relays[RELAYS]);
