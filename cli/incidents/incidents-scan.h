/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* `perftape incidents scan`: finds the incidents of a log, in the time of the store. */

#include "cli/options/command.h"

int incidents_scan(const struct invocation *invocation, const char *path);
