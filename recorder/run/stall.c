// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/stall.h"

#include "base/clock.h"

/* What a signal stopped is known for sure; that it came late otherwise is only said where it is no
 * matter of a busy host any more. */
#define STOPPED_NS NSEC_PER_SEC
#define STARVED_NS (5 * NSEC_PER_SEC)

int stall_look(struct stall *standstill, int continued, uint64_t late_ns, uint64_t now_ns,
	       struct losses *losses)
{
	bool stopped = continued != standstill->continued;

	standstill->continued = continued;
	if (late_ns < (stopped ? STOPPED_NS : STARVED_NS))
		return 0;
	*(stopped ? &standstill->held_ns : &standstill->starved_ns) += late_ns;
	return losses_add(losses, stopped ? TAPE_LOSS_STOPPED : TAPE_LOSS_STARVED, TAPE_ALL_CPUS,
			  now_ns - MIN(late_ns, now_ns), now_ns, 0);
}
