/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* perftape diff --fleet: hosts with a label against all others. */

#include "cli/options/command.h"

/* Returns an exit code. */
int fleet_diff(const struct invocation *invocation);
