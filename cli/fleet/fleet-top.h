/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* perftape top --fleet: the heaviest functions, threads or hosts of a fleet. */

#include "cli/options/command.h"

/* Returns an exit code. */
int fleet_top(const struct invocation *invocation);
