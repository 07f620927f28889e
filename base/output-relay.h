/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What another process writes to its standard output and error, handed on to ours. Who waits for
 * the end of these, "perftape audit | jq", does not wait for a process that cannot be ended then.
 * Terminals and files are left to it: nobody waits for their end.
 */

#define RELAYS 2

struct output_relay {
	/* ours */
	int to;
	/* our end and the other one; -1: there is none */
	int from, child_end;
};

/* Before the fork. 0 or a negative errno; relays_done() in either case. */
int relays_open(struct output_relay relays[RELAYS]);
/* In the other process: its output goes there, it has nothing to read, and of our files none but
 * `keep`. */
void relays_enter(struct output_relay relays[RELAYS], int keep);
/* Behind the fork, in ours. */
void relays_begin(struct output_relay relays[RELAYS]);
/* What has come so far; never waits for more. */
void relays_take(struct output_relay relays[RELAYS]);
void relays_done(struct output_relay relays[RELAYS]);
