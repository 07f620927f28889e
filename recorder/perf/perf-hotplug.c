// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/perf/perf-events-internal.h"

/*
 * The events of a CPU that went offline stay dead when it comes back, without any sign: their files
 * can be polled, and nothing ever comes. Most changes show in the list of online CPUs. A CPU that
 * went and came back between two looks does not, nor do all but one when the machine sleeps: of a
 * CPU that is silent the kernel is asked how long its event has been enabled, which of a dead one
 * stands still. Asking interrupts an idle CPU, so it is some of the silent ones at each look, and
 * all of them after a sleep.
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

struct returned {
	uint32_t cpu;
	int result;
};

struct look {
	struct perf_events *events;
	uint64_t now_ns;
	void (*changed)(void *context, uint32_t cpu, bool online, uint64_t time_ns);
	void *context;
	struct error *error;
	/* CPUs that are there again, and have no events yet */
	array_of(struct returned) returned;
};

static void perf_hotplug_tell(const struct look *look, const struct cpu_events *cpu, bool online,
			      uint64_t time_ns)
{
	if (events_wants(look->events, PERF_RING_SAMPLES, cpu->cpu))
		look->changed(look->context, cpu->cpu, online, time_ns);
}

/* One kind of ring of all that returned: whose files are whose is found out once for all of them.
 */
static int open_ring(struct look *look, enum perf_ring ring)
{
	int r;

	for (size_t i = 0; i < look->returned.count; i++) {
		struct returned *returned = &look->returned.items[i];

		if (returned->result < 0)
			continue;
		r = events_open_ring(look->events, ring, events_cpu(look->events, returned->cpu),
				     look->error);
		/* its samples are worth more than its trace events */
		if (r < 0 && ring < PERF_RING_TRACE)
			returned->result = error_prefix(look->error, r, "CPU %u is not sampled",
							returned->cpu);
	}
	return events_collect(look->events, ring);
}

/* It is there, or it has nothing open. */
static int perf_hotplug_begin(struct look *look, const struct returned *returned)
{
	struct cpu_events *cpu = events_cpu(look->events, returned->cpu);

	if (returned->result < 0) {
		events_close_cpu(cpu);
		return returned->result;
	}
	for (int ring = PERF_RINGS; ring-- > 0;)
		if (cpu->channels[ring])
			perf_channel_enable(cpu->channels[ring]);
	cpu->alive_ns = look->now_ns;
	perf_hotplug_tell(look, cpu, true, look->now_ns);
	return 0;
}

/* Events for all that returned. One that cannot be had is no reason not to have the others. */
static int bring_back(struct look *look)
{
	struct perf_events *events = look->events;
	int result = 0, r;

	if (!look->returned.count)
		return 0;
	for (size_t i = 0; i < look->returned.count; i++)
		events_close_cpu(events_cpu(events, look->returned.items[i].cpu));
	r = events_collect(events, PERF_RING_SAMPLES);
	for (int ring = PERF_RINGS; r == 0 && ring-- > 0;)
		r = open_ring(look, ring);
	for (size_t i = 0; i < look->returned.count; i++) {
		struct returned *returned = &look->returned.items[i];
		int begun;

		returned->result = returned->result ? returned->result : r;
		begun = perf_hotplug_begin(look, returned);
		result = result ? result : begun;
	}
	look->returned.count = 0;
	if (result == 0)
		return 0;
	/* what was closed again is not to be waited for, and is tried again */
	free(events->online);
	events->online = NULL;
	r = events_collect(events, PERF_RING_SAMPLES);
	return r == -ENOMEM ? r : result;
}

static int note_returned(struct look *look, uint32_t cpu)
{
	return array_push(&look->returned, (struct returned){ .cpu = cpu });
}

/* A CPU that is online and has no events, or has those of before it went. */
static int look_who_came(struct look *look, const struct cpu_list *online)
{
	struct perf_events *events = look->events;

	for (size_t i = 0; i < online->cpus.count; i++) {
		uint32_t number = online->cpus.items[i];
		struct cpu_events *cpu = events_cpu(events, number);

		if (cpu && cpu->channels[PERF_RING_SIDEBAND] && !cpu->gone)
			continue;
		if (!cpu && array_push(&events->cpus, (struct cpu_events){ .cpu = number }) < 0)
			return -ENOMEM;
		if (note_returned(look, number) < 0)
			return -ENOMEM;
	}
	return bring_back(look);
}

static void look_who_went(const struct look *look, const struct cpu_list *online)
{
	for (size_t i = 0; i < look->events->cpus.count; i++) {
		struct cpu_events *cpu = &look->events->cpus.items[i];

		if (!cpu->channels[PERF_RING_SIDEBAND] || cpu->gone ||
		    cpu_list_has(online, cpu->cpu))
			continue;
		cpu->gone = true;
		perf_hotplug_tell(look, cpu, false,
				  look->events->looked_ns ? look->events->looked_ns : look->now_ns);
	}
}

/* One that could be there and is not is so since before the events were opened. Those that are
 * merely possible are none of this host's. */
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
			perf_hotplug_tell(look, &absent, false, 0);
	}
	cpu_list_done(&present);
	return r == -ENOMEM ? r : 0;
}

static int look_at_list(struct look *look)
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
	return r;
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
static bool perf_hotplug_is_dead(const struct perf_events *events, struct cpu_events *cpu)
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

static int perf_hotplug_ask(struct look *look, struct cpu_events *cpu)
{
	if (!perf_hotplug_is_dead(look->events, cpu))
		return 0;
	perf_hotplug_tell(look, cpu, false, cpu->alive_ns);
	return note_returned(look, cpu->cpu);
}

static int ask_silent(struct look *look)
{
	struct perf_events *events = look->events;
	size_t left = events->doubted ? events->cpus.count : ASKED_AT_ONCE;
	size_t first = events->asked;
	int r = 0;

	for (size_t i = 0; r == 0 && i < events->cpus.count; i++) {
		size_t at = (first + i) % events->cpus.count;
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
		r = perf_hotplug_ask(look, cpu);
		events->asked = at + 1;
	}
	events->doubted -= !!events->doubted;
	return r == 0 ? bring_back(look) : r;
}

int perf_events_refresh(struct perf_events *events, uint64_t now_ns,
			void (*changed)(void *context, uint32_t cpu, bool online, uint64_t time_ns),
			void *context, struct error *error)
{
	struct look look = { .events = events,
			     .now_ns = now_ns,
			     .changed = changed,
			     .context = context,
			     .error = error };
	int result = events->looked_ns ? 0 : look_who_is_absent(&look), r;

	if (has_slept(events))
		events->doubted = LOOKS_AFTER_SLEEP;
	r = look_at_list(&look);
	result = result ? result : r;
	r = ask_silent(&look);
	events->looked_ns = now_ns;
	array_done(&look.returned);
	return result ? result : r;
}
