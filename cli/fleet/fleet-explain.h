/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* perftape explain --all --fleet: what comes before the incidents of all hosts. */

#include "cli/options/command.h"

/* Returns an exit code. */
int fleet_explain(const struct invocation *invocation);
