/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* perftape spikes --fleet: full single CPUs of all hosts. */

#include "cli/options/command.h"

/* Returns an exit code. */
int fleet_spikes(const struct invocation *invocation);
