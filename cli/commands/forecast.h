/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * `perftape record --forecast`: estimates the disk space for a night of this host. A trial records
 * into a temporary store for a minute, with the options of the recording and beside the host's own
 * load. The forecast comes from the trial's sealed segments.
 */

#include "cli/options/command.h"
#include "recorder/run/recorder.h"

/* Runs the trial and prints the forecast. Returns an exit code. */
int forecast_run(const struct invocation *invocation, const struct recorder_options *options,
		 const struct store_limits *limits);
