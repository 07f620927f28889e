/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Processes that each do one dangerous job for this program. A helper may hang or crash, or an
 * attacker may take it over. A helper is this program, executed anew in a hidden mode, so it shares
 * no memory with its parent and always has the same version. A helper gets one socket to its
 * parent; its standard files are /dev/null and its environment is empty. The kernel ends a helper
 * when its parent ends, and hides it from other processes of the same user: it receives files that
 * this user may not read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The hidden mode: this word as the first argument, and the name of a job as the second. */
#define HELPER_WORD "--helper"

struct helper_job {
	const char *name;
	/* Runs in the helper, with the socket to the parent. Returns the exit code. */
	int (*run)(int socket);
};

/*
 * If the arguments are those of a helper, runs the job and never returns. `jobs` ends with a zeroed
 * item. Call it first in main().
 */
void helper_enter(int argc, char **argv, const struct helper_job *jobs);

/*
 * Starts a helper. Hands on the capabilities in the bit set `rights` that the caller has; the job
 * must drop all other rights. Any thread may call this. `type` is that of the socket: SOCK_STREAM
 * or SOCK_SEQPACKET. Returns 0 with the process and our end of the socket, or a negative errno.
 */
int helper_start(const char *job, int type, uint64_t rights, int32_t *ret_pid, int *ret_socket);
/* Sets the sentence for an error of helper_start(). Returns `code`. */
int helper_explain(int code, struct error *error);

/* Drops all capabilities except `rights`, for good. Returns 0 or a negative errno. */
int helper_keep_rights(uint64_t rights);
/*
 * Returns whether a process is ready to run and waits for a CPU, or whether one of its children is
 * and does: a helper waits for its own helper, also for the start of one.
 */
bool helper_waits_for_cpu(int32_t pid);
