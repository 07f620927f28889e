/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * `perftape incidents`: lists the incidents of the store. A recorder found them, or a user added
 * them later.
 */

#include "cli/options/command.h"

int incidents_list(const struct invocation *invocation);
