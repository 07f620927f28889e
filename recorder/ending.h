/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The end of a recording: what waits is sealed, which takes seconds on a busy host, and each segment that is sealed gives the next as long. A
 * disk that hangs gives no sign, and who stops us does not wait for ever (systemd: TimeoutStopSec).
 */

#include "recorder/sealer.h"

/*
 * Ends the sealer and waits for it as long as it comes further, and until `stop` counts two. Calls `tell` once a second, which may be NULL. False: it is
 * still at work, and may be for ever.
 */
bool ending_wait(struct sealer *sealer, const volatile int *stop, void (*tell)(void *context),
	void *context);
