/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A recording as the outside sees it: the signals that it takes, the settings that it rereads, the
 * service manager that it talks to. */

#include "cli/options/command.h"
#include "recorder/run/service.h"
#include "cli/commands/snapshot-keeper.h"
#include "recorder/run/recorder.h"

struct recording {
	const struct invocation *invocation;
	/* somebody looks on, at a terminal */
	bool live;
	struct service service;
	/* NULL: no snapshots are left; borrowed */
	struct snapshot_keeper *keeper;
};

/* Signals are taken from here on. The invocation is borrowed. */
void recording_init(struct recording *recording, const struct invocation *invocation);
void recording_done(struct recording *recording);

/* What signals have asked for. */
const struct recorder_orders *recording_orders(void);

/* Tells the service manager: each second. */
void recording_tell(struct recording *recording, const struct recorder_progress *progress);
void recording_stopping(struct recording *recording);

/*
 * For recorder_options.reload(), with the recording as the context: rereads the file of settings,
 * and gives back the limits that it has now, those of the command line before them. Says what else
 * was changed there and needs a restart. A negative errno, when it was said what is wrong.
 */
int recording_reload(void *context, struct store_limits *ret_limits);
