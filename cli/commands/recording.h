/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The parts of a recording that face the outside: signals, settings and the service manager. */

#include "cli/options/command.h"
#include "recorder/run/service.h"
#include "cli/service/metrics-file.h"
#include "cli/service/snapshot-keeper.h"
#include "recorder/run/recorder.h"

struct recording {
	const struct invocation *invocation;
	/* Standard error is a terminal, and --quiet is not given. */
	bool live;
	struct service service;
	/* NULL: no snapshots; borrowed. */
	struct snapshot_keeper *keeper;
	/* NULL: no file of metrics; borrowed. */
	struct metrics_file *metrics;
};

/* Catches signals from now on. Borrows the invocation. */
void recording_init(struct recording *recording, const struct invocation *invocation);
void recording_done(struct recording *recording);

/* Returns what the signals requested. Valid until the process ends. */
const struct recorder_orders *recording_orders(void);

/* Reports to the service manager. Call it each second. */
void recording_report(struct recording *recording, const struct recorder_progress *progress);
void recording_stopping(struct recording *recording);

/*
 * For recorder_options.reload(), with the recording as the context. Reads the settings again and
 * returns the limits; the command line beats the file. Prints which other changed settings need a
 * restart. Returns 0, or a negative errno after a message.
 */
int recording_reload(void *context, struct store_limits *ret_limits);
