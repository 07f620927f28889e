// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/stall.h"

#include "base/clock.h"

/*
 * SIGCONT proves a stop by a signal. Any other delay counts only if a busy host does not explain
 * it.
 */
#define STOPPED_NS NSEC_PER_SEC
#define STARVED_NS (5 * NSEC_PER_SEC)

int stall_update(struct stall *stall, int continued, uint64_t late_ns, uint64_t now_ns,
		 struct losses *losses)
{
	bool stopped = continued != stall->continued;

	stall->continued = continued;
	if (late_ns < (stopped ? STOPPED_NS : STARVED_NS))
		return 0;
	*(stopped ? &stall->signal_ns : &stall->cpu_ns) += late_ns;
	return losses_add(losses, stopped ? TAPE_LOSS_STALLED_SIGNAL : TAPE_LOSS_STALLED_CPU,
			  TAPE_ALL_CPUS, now_ns - MIN(late_ns, now_ns), now_ns, 0);
}
