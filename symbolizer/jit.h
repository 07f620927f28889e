/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What just-in-time compilers write about the code that they make. Memory is used again: of several
 * that had an address the last one has it. Addresses are those of the process. Pure decoders: lines
 * and records that are not what they should be are passed over, and nothing reaches beyond the
 * source. 0, or as addresses_answer().
 */

#include "symbolizer/file-window.h"
#include "symbolizer/addresses.h"

/* perf-PID.map: a line a function, "7f2a31000000 1c0 name", start and size in hex. */
int perf_map_names(const struct file_window *source, struct addresses *addresses);
/* jit-PID.dump: a header, and records of which those that load code have a name. 0 also when it is
 * none. */
int jitdump_names(const struct file_window *source, struct addresses *addresses);
