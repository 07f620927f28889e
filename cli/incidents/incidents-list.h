/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * `perftape incidents`: lists the incidents that the store knows, found while recording or added
 * later.
 */

#include "cli/options/command.h"

int incidents_list(const struct invocation *invocation);
