/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "cli/screens/top-answer.h"

/*
 * Shows the last seconds of a running recording and redraws them every second until the user quits.
 * `to_ns` of the arguments' window is the length of the shown window. Returns an exit code.
 */
int top_live(const struct invocation *invocation, struct top *top);
