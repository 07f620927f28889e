/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* perftape fleet drift: which facts differ between hosts with and without incidents. */

#include "cli/options/command.h"

/* Returns an exit code. */
int fleet_drift(const struct invocation *invocation);
