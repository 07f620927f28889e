/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The end of a recording. The sealer seals the waiting tapes, which takes seconds on a busy host.
 * Each sign of progress allows it the same time again. A hung disk gives no sign, and the process
 * that stops us does not wait forever (systemd: TimeoutStopSec).
 */

#include "recorder/run/recorder.h"
#include "recorder/sink/sealer.h"

/* Returns the longest time to wait for progress of the sealer. */
uint64_t shutdown_patience_ns(void);

/*
 * Ends the sealer and waits for it. Returns true when it ended. Returns false, and leaves the
 * sealer at work, if *stop reaches 2, or if the sealer made no progress for `patience_ns` of our
 * running time. Calls `report`, which may be NULL, once per second.
 */
bool shutdown_wait(struct sealer *sealer, uint64_t patience_ns, const volatile sig_atomic_t *stop,
		   void (*report)(void *context), void *context);

/*
 * Returns why the recording ended, for the last tape (TAPE_ENDED): the signal's name, "duration" or
 * "failure".
 */
const char *shutdown_reason(const struct recorder_orders *orders, bool failed);
