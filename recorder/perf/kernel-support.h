/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Kernel features and rights that this process lacks, except those of perf events. Each has a name;
 * `status` explains the cost of its absence.
 */

#include "base/bytes.h"

/*
 * Appends the names of the features that are lacking, such as "kallsyms,map-files", to a
 * comma-separated list.
 */
void kernel_support_describe(struct buffer *text);

/* Returns whether this process has the capability of that number. */
bool kernel_support_has_capability(unsigned int capability);
/*
 * Returns whether this process runs in a user namespace. Capabilities in such a namespace do not
 * apply to the host.
 */
bool kernel_support_in_user_namespace(void);
/* Returns whether this kernel is older than the given version. */
bool kernel_support_is_older(unsigned int major, unsigned int minor);
