/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The output of `record`: news while it runs, the progress line, and the summary. */

#include "cli/commands/recording.h"

/* Prints the messages that are new since the last call. */
void record_report_news(const struct recording *recording,
			const struct recorder_progress *progress);
/* Overwrites the progress line each second. */
void record_report_line(const struct recorder_progress *progress);
/* Prints the news at the end. */
void record_report_end(const struct recording *recording, const struct recorder_progress *progress);
/*
 * Sums up the recording, and prints two commands to look at it. The second shows at most the last
 * two minutes.
 */
void record_report_summary(const struct invocation *invocation,
			   const struct recorder_progress *progress);
