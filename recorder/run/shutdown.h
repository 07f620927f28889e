/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The end of a recording: what waits is sealed, which takes seconds on a busy host, and each
 * segment that is sealed gives the next as long. A disk that hangs gives no sign, and who stops us
 * does not wait for ever (systemd: TimeoutStopSec).
 */

#include "recorder/run/recorder.h"
#include "recorder/sink/sealer.h"

/* How long a store may come no further at all. */
uint64_t shutdown_patience_ns(void);

/*
 * Ends the sealer and waits for it. Returns false, while the sealer is still at work, when `stop`
 * reaches two, or when the sealer does not come further for that time, in which this thread ran.
 * Calls `tell`, which may be NULL, once per second.
 */
bool shutdown_wait(struct sealer *sealer, uint64_t patience_ns, const volatile int *stop,
		   void (*tell)(void *context), void *context);

/* What the last tape says of why the recording ended (TAPE_ENDED): the signal's name, "duration"
 * without one, "failure". */
const char *shutdown_reason(const struct recorder_orders *orders, bool failed);
