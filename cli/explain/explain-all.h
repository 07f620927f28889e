/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* `explain --all`: what the incidents of one or several stores have in common. */

#include "cli/options/command.h"

/* Returns an exit_code, after a message if it is not EXIT_DONE. */
int explain_all_run(const struct invocation *invocation);
