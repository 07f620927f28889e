/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * `perftape audit --self`: one page about this host for a bug report. The command tries each event
 * for a moment, and says what the kernel and this process may do. The page does not name the host,
 * its users, their processes or their files.
 */

#include "cli/options/command.h"

/* Returns an exit code. */
int self_report(const struct invocation *invocation);
