/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The incidents that a store knows of: found while it was recorded, or added afterwards. */

#include "cli/options/command.h"

int incidents_list(const struct invocation *invocation);
