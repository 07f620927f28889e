// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/perf-events-parts.h"

/*
 * The events of a CPU that went offline stay dead when it comes back, without any sign: their files can be polled, and nothing ever comes. Most
 * changes show in the list of online CPUs. A CPU that went and came back between two looks does not, nor do all but one when the machine sleeps: of
 * a CPU that is silent the kernel is asked how long its event has been enabled, which of a dead one stands still. Asking interrupts an
 * idle CPU, so it is some of the silent ones at each look, and all of them after a sleep.
 */

#define ASKED_AT_ONCE 16

/* Of clocks that are read one behind the other. */
#define SLEPT_MIN_NS (10 * NSEC_PER_MSEC)
#define LOOKS_AFTER_SLEEP 3

void events_close_cpu(struct cpu_events *cpu)
{
	for (int ring = 0; ring < PERF_RINGS; ring++)
		cpu->channels[ring] = perf_channel_close(cpu->channels[ring]);
	cpu->gone = false;
	cpu->enabled_ns = 0;
}

static int open_cpu(struct perf_events *events, struct cpu_events *cpu, struct error *error)
{
	int r;

	events_close_cpu(cpu);
	r = events_collect(events, PERF_RING_SAMPLES);
	for (int ring = PERF_RINGS; r == 0 && ring-- > 0;) {
		r = events_open_ring(events, ring, cpu, error);
		/* its samples are worth more than its trace events */
		if (r < 0 && ring >= PERF_RING_TRACE)
			r = 0;
		if (r == 0)
			r = events_collect(events, ring);
	}
	if (r < 0) {
		events_close_cpu(cpu);
		return r;
	}
	for (int ring = PERF_RINGS; ring-- > 0;)
		if (cpu->channels[ring])
			perf_channel_enable(cpu->channels[ring]);
	return 0;
}

struct look {
	struct perf_events *events;
	uint64_t now_ns;
	void (*changed)(void *context, uint32_t cpu, bool online, uint64_t time_ns);
	void *context;
	struct error *error;
};

static void tell(
	const struct look *look, const struct cpu_events *cpu, bool online, uint64_t time_ns)
{
	if (events_wants(look->events, PERF_RING_SAMPLES, cpu->cpu))
		look->changed(look->context, cpu->cpu, online, time_ns);
}

static int bring_back(const struct look *look, struct cpu_events *cpu)
{
	int r = open_cpu(look->events, cpu, look->error);

	if (r < 0)
		return error_prefix(look->error, r, "CPU %u is not sampled", cpu->cpu);
	cpu->alive_ns = look->now_ns;
	tell(look, cpu, true, look->now_ns);
	return 0;
}

/* A CPU that is online and has no events, or has those of before it went. One that cannot be had is no reason not to have the others. */
static int look_who_came(const struct look *look, const struct cpu_list *online)
{
	struct perf_events *events = look->events;
	int result = 0, r;

	for (size_t i = 0; i < online->cpus.count; i++) {
		uint32_t number = online->cpus.items[i];
		struct cpu_events *cpu = events_cpu(events, number);

		if (cpu && cpu->channels[PERF_RING_SIDEBAND] && !cpu->gone)
			continue;
		if (!cpu && array_push(&events->cpus, (struct cpu_events){ .cpu = number }) < 0)
			return -ENOMEM;
		r = bring_back(look, events_cpu(events, number));
		result = result ? result : r;
	}
	return result;
}

static void look_who_went(const struct look *look, const struct cpu_list *online)
{
	for (size_t i = 0; i < look->events->cpus.count; i++) {
		struct cpu_events *cpu = &look->events->cpus.items[i];

		if (!cpu->channels[PERF_RING_SIDEBAND] || cpu->gone ||
			cpu_list_has(online, cpu->cpu))
			continue;
		cpu->gone = true;
		tell(look, cpu, false,
			look->events->looked_ns ? look->events->looked_ns : look->now_ns);
	}
}

/* One that could be there and is not is so since before the events were opened. Those that are merely possible are none of this host's. */
static int look_who_is_absent(const struct look *look)
{
	struct perf_events *events = look->events;
	struct cpu_list present = { 0 };
	_cleanup_free_ char *text = NULL;
	int r = file_read("/sys/devices/system/cpu/present", 65536, &text, NULL);

	if (r == 0)
		r = cpu_list_parse(text, &present);
	for (size_t i = 0; r == 0 && i < present.cpus.count; i++) {
		struct cpu_events absent = { .cpu = present.cpus.items[i] };

		if (!events_cpu(events, absent.cpu))
			tell(look, &absent, false, 0);
	}
	cpu_list_done(&present);
	return r == -ENOMEM ? r : 0;
}

static int look_at_list(const struct look *look)
{
	struct perf_events *events = look->events;
	struct cpu_list online = { 0 };
	int r = events_read_online(events);

	if (r < 0 || (events->online && strcmp(events->online_file.text, events->online) == 0))
		return r;
	r = cpu_list_parse(events->online_file.text, &online);
	if (r < 0)
		return r;
	look_who_went(look, &online);
	r = look_who_came(look, &online);
	cpu_list_done(&online);
	free(events->online);
	events->online = r == 0 ? strdup(events->online_file.text) : NULL;
	return r == 0 ? events_collect(events, PERF_RING_SAMPLES) : r;
}

/* Was the machine suspended since the last look? */
static bool has_slept(struct perf_events *events)
{
	uint64_t boottime_ns = clock_ns(CLOCK_BOOTTIME), monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t slept_ns = boottime_ns - MIN(boottime_ns, monotonic_ns);
	bool longer = events->looked_ns && slept_ns > events->slept_ns + SLEPT_MIN_NS;

	events->slept_ns = slept_ns;
	return longer;
}

/* Does its event stand still since it was asked last? Of one that goes on, `alive_ns` is known. */
static bool is_dead(const struct perf_events *events, struct cpu_events *cpu)
{
	enum perf_ring ring =
		cpu->channels[PERF_RING_SAMPLES] ? PERF_RING_SAMPLES : PERF_RING_SIDEBAND;
	uint64_t before_ns = cpu->enabled_ns;
	struct perf_channel_counts counts;

	if (perf_channel_counts(cpu->channels[ring], &counts) < 0)
		return false;
	cpu->enabled_ns = counts.enabled_ns;
	if (before_ns && counts.enabled_ns > before_ns)
		cpu->alive_ns = events->looked_ns;
	return before_ns && counts.enabled_ns == before_ns;
}

static int ask(const struct look *look, struct cpu_events *cpu)
{
	if (!is_dead(look->events, cpu))
		return 0;
	tell(look, cpu, false, cpu->alive_ns);
	return bring_back(look, cpu);
}

static int ask_silent(const struct look *look)
{
	struct perf_events *events = look->events;
	size_t left = events->doubted ? events->cpus.count : ASKED_AT_ONCE;
	int result = 0, r;

	for (size_t i = 0; i < events->cpus.count; i++) {
		size_t at = (events->asked + i) % events->cpus.count;
		struct cpu_events *cpu = &events->cpus.items[at];

		if (!cpu->channels[PERF_RING_SIDEBAND] || cpu->gone)
			continue;
		if (cpu->heard && !events->doubted) {
			cpu->heard = false;
			cpu->enabled_ns = 0;
			cpu->alive_ns = events->looked_ns;
			continue;
		}
		if (!left--)
			break;
		r = ask(look, cpu);
		result = result ? result : r;
		events->asked = at + 1;
	}
	events->doubted -= !!events->doubted;
	return result;
}

int perf_events_refresh(struct perf_events *events, uint64_t now_ns,
	void (*changed)(void *context, uint32_t cpu, bool online, uint64_t time_ns), void *context,
	struct error *error)
{
	struct look look = { events, now_ns, changed, context, error };
	int result = events->looked_ns ? 0 : look_who_is_absent(&look), r;

	if (has_slept(events))
		events->doubted = LOOKS_AFTER_SLEEP;
	r = look_at_list(&look);
	result = result ? result : r;
	r = ask_silent(&look);
	events->looked_ns = now_ns;
	return result ? result : r;
}
