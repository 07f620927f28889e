/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The options of `record`. */

#include "base/bytes.h"
#include "cli/options/command.h"
#include "recorder/run/recorder.h"

extern const struct option record_options[];

/*
 * Sets the options that the user gave. The names of trace events go into `trace`, which must live
 * as long as the options. Returns EXIT_DONE, or EXIT_USAGE or EXIT_FAILED after a message.
 */
int record_options_parse(const struct invocation *invocation, struct recorder_options *options,
			 struct buffer *trace);

/* Sets the limit of --snapshot-max, or its default. Returns EXIT_DONE, or EXIT_USAGE. */
int record_options_snapshot_max(const struct invocation *invocation, uint64_t *ret_bytes);
