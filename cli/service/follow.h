/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * `perftape incidents --follow`: prints each new incident of the store until a signal ends it. If
 * --leave names a folder, it also leaves a snapshot and a text of each episode there. It needs only
 * the right to read the store. So programs that react to incidents run apart from the recorder and
 * without the recorder's rights.
 */

#include "cli/options/command.h"

/* Returns an exit code. */
int follow_incidents(const struct invocation *invocation);
