// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/shutdown.h"

#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "base/mutation.h"

/* A write to a busy spinning disk does not take longer than this. */
#define PATIENCE_NS (30 * NSEC_PER_SEC)
#define LOOK_NS (10 * NSEC_PER_MSEC)
/*
 * If a pause took longer, this process did not run. The store did not cause that, so the rest of
 * the pause does not count.
 */
#define PAUSE_MAX_NS (200 * NSEC_PER_MSEC)

uint64_t shutdown_patience_ns(void)
{
	return tuned_ns("PERFTAPE_SHUTDOWN_MS", PATIENCE_NS);
}

/* Returns whether the sealer made progress since the last call. */
static bool note_progress(struct sealer *sealer, struct sealer_status *last)
{
	struct sealer_status now;
	bool on;

	sealer_status(sealer, &now);
	on = now.segments != last->segments || now.waiting != last->waiting ||
	     now.spooled_ns != last->spooled_ns || now.naming.since_ns != last->naming.since_ns ||
	     now.recovered.tapes != last->recovered.tapes;
	*last = now;
	return on;
}

bool shutdown_wait(struct sealer *sealer, uint64_t patience_ns, const volatile sig_atomic_t *stop,
		   void (*report)(void *context), void *context)
{
	const struct timespec pause = { 0, LOOK_NS };
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), reported_ns = 0, before_ns, waited_ns = 0;
	struct sealer_status status = { 0 };

	sealer_end(sealer);
	while (!sealer_ended(sealer)) {
		if (note_progress(sealer, &status))
			waited_ns = 0;
		if (*stop >= 2 || waited_ns > patience_ns)
			return false;
		if (report && now_ns - reported_ns > NSEC_PER_SEC) {
			reported_ns = now_ns;
			report(context);
		}
		before_ns = now_ns;
		nanosleep(&pause, NULL);
		now_ns = clock_ns(CLOCK_MONOTONIC);
		waited_ns += MIN(now_ns - before_ns, PAUSE_MAX_NS);
	}
	return true;
}

const char *shutdown_reason(const struct recorder_orders *orders, bool failed)
{
	if (failed)
		return "failure";
	if (!orders->stop)
		return "duration";
	switch (orders->signal) {
	case SIGINT:
		return "SIGINT";
	case SIGHUP:
		return "SIGHUP";
	default:
		return "SIGTERM";
	}
}
