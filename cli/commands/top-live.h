/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "cli/commands/top-answer.h"

/*
 * Shows the last seconds of a running recording and redraws them every second until the user quits.
 * The end of the arguments' window is its length. Returns an exit code.
 */
int top_live(const struct invocation *invocation, struct top *top);
