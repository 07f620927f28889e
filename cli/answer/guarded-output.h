/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* An output that removes its hidden file when a signal ends the command. */

#include "query/text/output.h"

/*
 * Opens an output as output_open() does. If the file has a hidden name, SIGINT, SIGTERM and SIGHUP
 * remove the file before they end the process. Protects only the output that was opened last.
 */
int guarded_output_open(struct output *output, const char *path, bool force, struct error *error);
