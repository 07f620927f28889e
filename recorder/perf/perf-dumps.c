// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf/perf-dumps.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/perf/perf-events-internal.h"

/*
 * A ring holds the copies of a busy CPU for RING_NS, or for RING_NS_MIN if memory is short. The
 * recorder walks copies that are 0.1 s old, at each turn and when the ring is half full. In a
 * smaller ring, most copies would be lost.
 */
#define RING_NS (550 * NSEC_PER_MSEC)
#define RING_NS_MIN (250 * NSEC_PER_MSEC)
/* Estimated size of a record without its stack: registers, callers and ids. */
#define RECORD_BYTES 1024
/* The rings for copies on all CPUs together take at most 1/MEMORY_PART of the memory. */
#define MEMORY_PART 100

static size_t perf_dumps_round_up(uint64_t bytes)
{
	size_t rounded = sysconf(_SC_PAGESIZE);

	while (rounded < bytes)
		rounded *= 2;
	return rounded;
}

/* Returns the size of a ring that holds the copies of a busy CPU for time_ns. */
static size_t perf_dumps_ring_for(const struct perf_events *events, size_t stack_bytes,
				  uint64_t time_ns)
{
	uint64_t count = time_ns / perf_events_timer_ns(events) + 1;

	return perf_dumps_round_up(count * (stack_bytes + RECORD_BYTES));
}

/*
 * Chooses the size of a ring for copies of stack_bytes: the size for RING_NS, or the largest
 * smaller size that memory allows. Returns 0 if even the smallest useful ring is too large.
 */
static size_t perf_dumps_choose_ring(const struct perf_events *events, size_t stack_bytes)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	uint64_t most = memory / MEMORY_PART / MAX(events->cpus.count, (size_t)1);
	size_t bytes = perf_dumps_ring_for(events, stack_bytes, RING_NS);

	while (bytes > most && bytes / 2 >= perf_dumps_ring_for(events, stack_bytes, RING_NS_MIN))
		bytes /= 2;
	return bytes <= most ? bytes : 0;
}

/* Returns the descriptor of a CPU's event that takes the samples, or -1. */
static int perf_dumps_leader(const struct perf_events *events, const struct cpu_events *cpu)
{
	struct perf_channel_counts counts;

	if (!cpu->channels[PERF_RING_SAMPLES] ||
	    perf_channel_counts(cpu->channels[PERF_RING_SAMPLES], &counts) < 0 || !counts.id)
		return -1;
	return perf_poll_find(&events->poll, counts.id);
}

int events_open_dump(struct perf_events *events, struct cpu_events *cpu)
{
	bool together = !(events->lacks & PERF_LACKS_DUMPS_TOGETHER);
	int leader = perf_dumps_leader(events, cpu);

	/* skip a CPU that is not sampled; on other CPUs, the event needs its leader */
	if (leader < 0)
		return cpu->channels[PERF_RING_SAMPLES] ? -EINVAL : 0;
	return dump_event_open(events->attrs[PERF_RING_DUMPS], cpu->cpu, together ? leader : -1,
			       events->dump_bytes, &cpu->dump);
}

/*
 * Puts each event into the group of its CPU's sampling timer, if the kernel allows that. Otherwise
 * the two events of a CPU fire in two interrupts.
 */
static int perf_dumps_open_together(struct perf_events *events)
{
	int r = events_open_all(events, PERF_RING_DUMPS, NULL);

	if (r != -EINVAL || events->lacks & PERF_LACKS_DUMPS_TOGETHER)
		return r;
	events->lacks |= PERF_LACKS_DUMPS_TOGETHER;
	r = events_open_all(events, PERF_RING_DUMPS, NULL);
	if (r < 0)
		events->lacks &= ~(unsigned int)PERF_LACKS_DUMPS_TOGETHER;
	return r;
}

/*
 * Opens the events for copies of stack_bytes, with smaller rings if a limit of locked memory
 * requires that.
 */
static int perf_dumps_try(struct perf_events *events, size_t stack_bytes)
{
	size_t least = perf_dumps_ring_for(events, stack_bytes, RING_NS_MIN);
	int r;

	events->stack_bytes = stack_bytes;
	events->dump_bytes = perf_dumps_choose_ring(events, stack_bytes);
	if (!events->dump_bytes)
		return -ENOBUFS;
	r = perf_dumps_open_together(events);
	while ((r == -ENOBUFS || r == -ENOMEM) && events->dump_bytes / 2 >= least) {
		events->dump_bytes /= 2;
		r = perf_dumps_open_together(events);
	}
	return r;
}

static void perf_dumps_give_up(struct perf_events *events)
{
	events->stack_bytes = events->dump_bytes = 0;
	events->counts[PERF_RING_DUMPS] = 0;
	events->lacks |= PERF_LACKS_DUMPS;
}

/*
 * Only two timers can fire together. Two hardware counters would fire at different times, and a
 * second counter may not be free.
 */
static bool perf_dumps_can_pair(const struct perf_events *events)
{
	return perf_events_timer_ns(events) && !events->options.no_user_stacks;
}

int events_open_dumps(struct perf_events *events)
{
	size_t stack_bytes = events->options.stack_bytes;
	int r = -ENOBUFS;

	if (!stack_bytes)
		return 0;
	events->counts[PERF_RING_DUMPS] = 1;
	for (; perf_dumps_can_pair(events) && stack_bytes >= PERF_DUMPS_STACK_MIN;
	     stack_bytes /= 2) {
		r = perf_dumps_try(events, stack_bytes / 8 * 8);
		if (r != -ENOBUFS && r != -ENOMEM)
			break;
		events->lacks |= PERF_LACKS_DUMPS_SIZE;
	}
	if (r < 0) {
		events->lacks &= ~(unsigned int)PERF_LACKS_DUMPS_SIZE;
		perf_dumps_give_up(events);
	}
	return events_collect(events, PERF_RING_DUMPS);
}

size_t perf_dumps_bytes(const struct perf_events *events, size_t *ret_ring_bytes)
{
	*ret_ring_bytes = events->dump_bytes;
	return events->stack_bytes;
}

int perf_dumps_each(const struct perf_events *events,
		    int (*take)(void *context, uint32_t cpu, const struct ring_view *view),
		    void *context)
{
	struct ring_view view;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < events->cpus.count; i++) {
		const struct cpu_events *cpu = &events->cpus.items[i];

		if (!cpu->dump)
			continue;
		view = dump_event_view(cpu->dump);
		r = take(context, cpu->cpu, &view);
	}
	return MIN(r, 0);
}

void perf_dumps_release(const struct perf_events *events, uint32_t cpu, uint64_t tail)
{
	const struct cpu_events *found = events_cpu(events, cpu);

	if (found && found->dump)
		dump_event_release(found->dump, tail);
}

static int perf_dumps_align_cpu(const struct perf_events *events, const struct cpu_events *cpu)
{
	int leader = perf_dumps_leader(events, cpu);

	if (!cpu->dump || leader < 0 || events->lacks & PERF_LACKS_DUMPS_TOGETHER)
		return -ENODEV;
	return dump_event_align(cpu->dump, leader, perf_events_timer_ns(events));
}

int perf_dumps_align(const struct perf_events *events, uint32_t cpu)
{
	const struct cpu_events *found = events_cpu(events, cpu);

	return found ? perf_dumps_align_cpu(events, found) : -ENODEV;
}

/* Starts the events on all CPUs. Their leaders already run, so align the timers. */
static void perf_dumps_start(const struct perf_events *events)
{
	for (size_t i = 0; i < events->cpus.count; i++) {
		const struct cpu_events *cpu = &events->cpus.items[i];

		if (!cpu->dump)
			continue;
		dump_event_enable(cpu->dump);
		perf_dumps_align_cpu(events, cpu);
	}
}

int perf_dumps_resize(struct perf_events *events, size_t stack_bytes)
{
	size_t before_stack = events->stack_bytes, before_ring = events->dump_bytes;
	int r;

	if (!events->counts[PERF_RING_DUMPS] || stack_bytes == before_stack ||
	    !perf_dumps_choose_ring(events, stack_bytes))
		return 0;
	events_close_ring(events, PERF_RING_DUMPS);
	r = events_collect(events, PERF_RING_SAMPLES);
	if (r < 0)
		return r;
	r = perf_dumps_try(events, stack_bytes);
	if (r < 0) {
		events->stack_bytes = before_stack;
		events->dump_bytes = before_ring;
		if (events_open_all(events, PERF_RING_DUMPS, NULL) < 0)
			perf_dumps_give_up(events);
	}
	perf_dumps_start(events);
	return events_collect(events, PERF_RING_DUMPS) < 0 ? -ENOMEM : r == 0;
}
