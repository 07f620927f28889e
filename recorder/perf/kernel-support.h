/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What this kernel is too old for, or our rights do not reach, beside the events themselves. Each
 * has a name; `status` says what it costs. */

#include "base/bytes.h"

/* Adds those that are missing here, "kallsyms,map-files", to the names that are there already. */
void kernel_support_describe(struct buffer *text);

/* Does this process have one of the kernel's rights, by its number? */
bool kernel_support_capable(unsigned int capability);
/* Are they those of a user namespace, and not the host's? They reach nothing of the host's then. */
bool kernel_support_guest(void);
/* Is this kernel older than that? */
bool kernel_support_older(unsigned int major, unsigned int minor);
