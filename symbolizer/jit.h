/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Decodes the files in which just-in-time compilers describe their code. Compilers reuse memory, so
 * the last function at an address wins. Addresses are virtual addresses of the process. Pure
 * decoders: they skip invalid lines and records and never read beyond the source. They return 0,
 * the errors of addresses_answer(), or -ETIME without names if the file costs too much
 * (symbolizer/work-limit.h).
 */

#include "symbolizer/file-window.h"
#include "symbolizer/addresses.h"

/*
 * Reads perf-PID.map. Each function has a line "7f2a31000000 1c0 name", with start and size in hex.
 */
int perf_map_names(const struct file_window *source, struct addresses *addresses);
/*
 * Reads jit-PID.dump: a header, then records. The records that load code contain a name. Returns 0
 * also if the file is not a jitdump.
 */
int jitdump_names(const struct file_window *source, struct addresses *addresses);
