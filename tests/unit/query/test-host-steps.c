// SPDX-License-Identifier: GPL-2.0-only
/* Threads that waited for a CPU, by their gauges. */
#include "tests/check.h"

#include "base/clock.h"
#include "query/explain/host-steps.h"

/* Returns whether the wait of a thread counts as one on a CPU, and which. */
static bool waits_on_cpu(const char *name, uint32_t *ret_cpu)
{
	struct evidence evidence = { .stall_to_ns = 100 * NSEC_PER_SEC };
	struct host_steps steps = { .evidence = &evidence };
	const struct series_step step = {
		.name = name,
		.to_ns = 10 * NSEC_PER_SEC,
		.figure = 100,
		.has_figure = true,
	};
	bool has_cpu;

	host_steps_init(&steps);
	CHECK_EQ(host_steps_see_cpu(&steps, &step), 0);
	CHECK_EQ(steps.victims.count, 1);
	has_cpu = steps.victims.items[0].has_cpu;
	*ret_cpu = steps.victims.items[0].cpu;
	host_steps_done(&steps);
	strings_done(&evidence.names);
	return has_cpu;
}

/* A gauge of a thread that an incident names ends with the thread's number. */
static void test_victims(void)
{
	uint32_t cpu;

	CHECK(waits_on_cpu("thread/ksoftirqd/39/wait_us", &cpu));
	CHECK_EQ(cpu, 39);
	CHECK(!waits_on_cpu("thread/ksoftirqd/39:4711/wait_us", &cpu));
	CHECK(!waits_on_cpu("thread/raylet:4711/wait_us", &cpu));
}

CHECK_MAIN({ "a user's thread is not the kernel's of a CPU", test_victims })
