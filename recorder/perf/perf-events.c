// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "recorder/perf/perf-events-internal.h"

void perf_events_stop(struct perf_events *events)
{
	for (size_t i = 0; i < events->cpus.count; i++) {
		struct perf_channel **channels = events->cpus.items[i].channels;

		if (channels[PERF_RING_SAMPLES])
			perf_channel_disable(channels[PERF_RING_SAMPLES]);
		if (events->cpus.items[i].dump)
			dump_event_disable(events->cpus.items[i].dump);
	}
}

const char *perf_events_name(const struct perf_events *events)
{
	return events->event->name;
}

/* Rounds as the kernel does when it converts a frequency to a period. */
uint64_t perf_events_timer_ns(const struct perf_events *events)
{
	if (strcmp(events->event->name, "cpu-clock") != 0)
		return 0;
	return events->options.period ? events->options.period
				      : NSEC_PER_SEC / events->options.frequency;
}

/*
 * After a burst of events the kernel sets the period to millions of events. It computes a lower
 * period at each tick, but first finishes the present period. That may take minutes (6.18, also
 * with `perf record -F`). Setting the frequency again starts a period of the length that the kernel
 * computed last.
 */
void perf_events_nudge(const struct perf_events *events)
{
	uint64_t frequency = events->options.frequency;

	if (events->event->type != PERF_TYPE_SOFTWARE || events->options.period ||
	    perf_events_timer_ns(events))
		return;
	for (size_t i = 0; i < events->poll.known.count; i++)
		if (events->poll.known.items[i].ring == PERF_RING_SAMPLES)
			(void)!ioctl(events->poll.known.items[i].fd, PERF_EVENT_IOC_PERIOD,
				     &frequency);
}

unsigned int perf_events_cpus(const struct perf_events *events)
{
	unsigned int count = 0;

	for (size_t i = 0; i < events->cpus.count; i++)
		count += !!events->cpus.items[i].channels[PERF_RING_SAMPLES];
	return count;
}

size_t events_ring_bytes(const struct perf_events *events, enum perf_ring ring)
{
	return ring < PERF_RING_TRACE ? events->ring_bytes : events->trace_bytes;
}

size_t perf_events_ring_bytes(const struct perf_events *events, uint64_t *ret_all)
{
	*ret_all = 0;
	for (size_t i = 0; i < events->cpus.count; i++) {
		*ret_all += events->cpus.items[i].dump ? events->dump_bytes : 0;
		for (int ring = 0; ring < PERF_RINGS; ring++)
			if (events->cpus.items[i].channels[ring])
				*ret_all += events_ring_bytes(events, ring);
	}
	return events->ring_bytes;
}

const char *perf_events_lacks(const struct perf_events *events)
{
	return (const char *)events->lacks_text.data;
}

const struct perf_layout *perf_events_layout(const struct perf_events *events, enum perf_ring ring)
{
	return &events->layouts[ring];
}

struct cpu_events *events_cpu(const struct perf_events *events, uint32_t cpu)
{
	for (size_t i = 0; i < events->cpus.count; i++)
		if (events->cpus.items[i].cpu == cpu)
			return &events->cpus.items[i];
	return NULL;
}

struct perf_drain {
	enum perf_ring ring;
	struct cpu_events *cpu;
	int (*handle)(void *context, enum perf_ring ring, const uint8_t *record, size_t size);
	void *context;
};

static int perf_events_handle_record(void *context, const uint8_t *record, size_t size)
{
	const struct perf_drain *drain = context;

	atomic_store_explicit(&drain->cpu->had_record, true, memory_order_relaxed);
	return drain->handle(drain->context, drain->ring, record, size);
}

int perf_events_close_offline(struct perf_events *events)
{
	bool any = false;

	for (size_t i = 0; i < events->cpus.count; i++) {
		any = any || events->cpus.items[i].offline;
		if (events->cpus.items[i].offline)
			events_close_cpu(&events->cpus.items[i]);
	}
	return any ? events_collect(events, PERF_RING_SAMPLES) : 0;
}

static int perf_events_drain_ring(struct perf_events *events, struct perf_drain *drain)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < events->cpus.count; i++) {
		struct perf_channel *channel = events->cpus.items[i].channels[drain->ring];

		drain->cpu = &events->cpus.items[i];
		r = channel ? perf_channel_drain(channel, perf_events_handle_record, drain) : 0;
	}
	return r;
}

int perf_events_drain(struct perf_events *events, unsigned int rings,
		      int (*handle)(void *context, enum perf_ring ring, const uint8_t *record,
				    size_t size),
		      void *context)
{
	struct perf_drain drain = { .handle = handle, .context = context };
	int r = 0;

	for (; r == 0 && drain.ring < PERF_RINGS; drain.ring++)
		if (rings & 1u << drain.ring && drain.ring != PERF_RING_DUMPS)
			r = perf_events_drain_ring(events, &drain);
	return r < 0 || rings != PERF_ALL_RINGS ? r : perf_events_close_offline(events);
}

/* All counts are 0 for a CPU without events. */
static struct perf_channel_counts perf_events_read_counts(const struct perf_events *events,
							  uint32_t cpu)
{
	const struct cpu_events *found = events_cpu(events, cpu);
	struct perf_channel_counts counts = { 0 };

	if (found && found->channels[PERF_RING_SAMPLES])
		perf_channel_counts(found->channels[PERF_RING_SAMPLES], &counts);
	return counts;
}

uint64_t perf_events_lost(const struct perf_events *events, uint32_t cpu)
{
	return perf_events_read_counts(events, cpu).lost;
}

uint64_t perf_events_counted(const struct perf_events *events, uint32_t cpu)
{
	return perf_events_read_counts(events, cpu).events;
}

int events_collect(struct perf_events *events, enum perf_ring fresh)
{
	return perf_poll_collect(&events->poll, fresh,
				 fresh == PERF_RING_REQUESTED ? 0 : events->counts[fresh]);
}

unsigned int perf_events_wait(struct perf_events *events, uint64_t timeout_ns)
{
	return perf_poll_wait(&events->poll, timeout_ns);
}
