/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* perftape incidents --fleet: the incidents of all hosts, by label. */

#include "cli/options/command.h"

/* Returns an exit code. */
int fleet_incidents(const struct invocation *invocation);
