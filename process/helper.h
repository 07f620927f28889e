/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Processes that do one dangerous job for this program: they may hang, crash or be attacked. A
 * helper is this program, executed anew in a hidden mode, so it shares no memory with its parent
 * and always has the same version. It has one socket to its parent, no other file and no
 * environment. It ends when its parent ends.
 */

#include <stdbool.h>
#include <stdint.h>

/* The hidden mode: this word as the first argument, and the name of a job as the second. */
#define HELPER_WORD "--helper"

struct helper_job {
	const char *name;
	/* Runs in the helper, with the socket to the parent. Returns the exit code. */
	int (*run)(int socket);
};

/*
 * Runs a job if the arguments are those of a helper, and then never returns. `jobs` ends with a
 * zeroed item. Call it first in main().
 */
void helper_enter(int argc, char **argv, const struct helper_job *jobs);

/*
 * Starts a helper. Hands on `rights`, a set of bits for capabilities, as far as the caller has
 * them; other rights are the job's to drop. May be called from any thread. Returns the process and
 * our end of the socket, of this type (SOCK_STREAM, SOCK_SEQPACKET); or a negative errno.
 */
int helper_start(const char *job, int type, uint64_t rights, int32_t *ret_pid, int *ret_socket);

/* Drops all capabilities but these, for good. Returns 0 or a negative errno. */
int helper_keep_rights(uint64_t rights);
/* Returns whether a process is ready to run and waits for a CPU. */
bool helper_waits_for_cpu(int32_t pid);
