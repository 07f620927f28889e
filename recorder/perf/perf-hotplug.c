// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/perf/perf-events-internal.h"

/*
 * When a CPU goes offline and comes back, its events stay dead without any sign: their files can be
 * polled, but no record ever comes. The list of online CPUs shows most changes. It does not show a
 * CPU that went offline and came back between two checks. It also does not show a suspension of the
 * machine, during which all CPUs but one are offline.
 *
 * Therefore each check reads the enabled time of the events of silent CPUs; that of a dead event
 * does not advance. Reading it interrupts an idle CPU, so a check reads it for some silent CPUs
 * only, and for all CPUs after a suspension.
 */

#define CHECKS_PER_REFRESH 16

/* A smaller difference may come from reading two clocks one after the other. */
#define SLEPT_MIN_NS (10 * NSEC_PER_MSEC)
#define FULL_CHECKS_AFTER_SLEEP 3

void events_close_cpu(struct cpu_events *cpu)
{
	for (int ring = 0; ring < PERF_RINGS; ring++)
		cpu->channels[ring] = perf_channel_close(cpu->channels[ring]);
	cpu->dump = dump_event_close(cpu->dump);
	cpu->offline = false;
	cpu->enabled_ns = 0;
}

struct returned {
	uint32_t cpu;
	int result;
};

struct hotplug_check {
	struct perf_events *events;
	uint64_t now_ns;
	void (*changed)(void *context, uint32_t cpu, bool online, uint64_t time_ns);
	void *context;
	struct error *error;
	/* CPUs that are online again, and need new events. */
	array_of(struct returned) returned;
};

static void perf_hotplug_notify(const struct hotplug_check *check, const struct cpu_events *cpu,
				bool online, uint64_t time_ns)
{
	if (events_wants(check->events, PERF_RING_SAMPLES, cpu->cpu))
		check->changed(check->context, cpu->cpu, online, time_ns);
}

/* Opens one kind of ring on all returned CPUs, and collects the new descriptors together. */
static int perf_hotplug_open_ring(struct hotplug_check *check, enum perf_ring ring)
{
	int r;

	for (size_t i = 0; i < check->returned.count; i++) {
		struct returned *returned = &check->returned.items[i];

		if (returned->result < 0)
			continue;
		r = events_open_ring(check->events, ring, events_cpu(check->events, returned->cpu),
				     check->error);
		/* A CPU whose trace events cannot be opened is still sampled. */
		if (r < 0 && ring < PERF_RING_TRACE)
			returned->result = error_prefix(check->error, r, "CPU %u is not sampled",
							returned->cpu);
	}
	return events_collect(check->events, ring);
}

/* Enables the events of a CPU, or closes them all if one could not be opened. */
static int perf_hotplug_start(struct hotplug_check *check, const struct returned *returned)
{
	struct cpu_events *cpu = events_cpu(check->events, returned->cpu);

	if (returned->result < 0) {
		events_close_cpu(cpu);
		return returned->result;
	}
	if (cpu->dump)
		dump_event_enable(cpu->dump);
	for (int ring = PERF_RINGS; ring-- > 0;)
		if (cpu->channels[ring])
			perf_channel_enable(cpu->channels[ring]);
	cpu->online_ns = check->now_ns;
	perf_hotplug_notify(check, cpu, true, check->now_ns);
	return 0;
}

/* Opens the events of all returned CPUs. A failure on one CPU does not stop the others. */
static int perf_hotplug_reopen_returned(struct hotplug_check *check)
{
	struct perf_events *events = check->events;
	int result = 0, r;

	if (!check->returned.count)
		return 0;
	for (size_t i = 0; i < check->returned.count; i++)
		events_close_cpu(events_cpu(events, check->returned.items[i].cpu));
	r = events_collect(events, PERF_RING_SAMPLES);
	for (int ring = PERF_RING_DUMPS; r == 0 && ring-- > 0;)
		r = perf_hotplug_open_ring(check, ring);
	/* open the events that copy stacks last: the events of samples lead them */
	if (r == 0)
		r = perf_hotplug_open_ring(check, PERF_RING_DUMPS);
	for (size_t i = 0; i < check->returned.count; i++) {
		struct returned *returned = &check->returned.items[i];
		int begun;

		returned->result = returned->result ? returned->result : r;
		begun = perf_hotplug_start(check, returned);
		result = result ? result : begun;
	}
	check->returned.count = 0;
	if (result == 0)
		return 0;
	/*
	 * Try again at the next check. Collect the descriptors, because perf_poll_wait() must not
	 * wait for closed ones.
	 */
	free(events->online);
	events->online = NULL;
	r = events_collect(events, PERF_RING_SAMPLES);
	return r == -ENOMEM ? r : result;
}

static int perf_hotplug_add_returned(struct hotplug_check *check, uint32_t cpu)
{
	return array_push(&check->returned, (struct returned){ .cpu = cpu });
}

/* Finds CPUs that are online without events, or with dead events from before they went offline. */
static int perf_hotplug_check_onlined(struct hotplug_check *check, const struct cpu_list *online)
{
	struct perf_events *events = check->events;

	for (size_t i = 0; i < online->cpus.count; i++) {
		uint32_t number = online->cpus.items[i];
		struct cpu_events *cpu = events_cpu(events, number);

		if (cpu && cpu->channels[PERF_RING_SIDEBAND] && !cpu->offline)
			continue;
		if (!cpu && array_push(&events->cpus, (struct cpu_events){ .cpu = number }) < 0)
			return -ENOMEM;
		if (perf_hotplug_add_returned(check, number) < 0)
			return -ENOMEM;
	}
	return perf_hotplug_reopen_returned(check);
}

static void perf_hotplug_check_offlined(const struct hotplug_check *check,
					const struct cpu_list *online)
{
	for (size_t i = 0; i < check->events->cpus.count; i++) {
		struct cpu_events *cpu = &check->events->cpus.items[i];

		if (!cpu->channels[PERF_RING_SIDEBAND] || cpu->offline ||
		    cpu_list_has(online, cpu->cpu))
			continue;
		cpu->offline = true;
		perf_hotplug_notify(check, cpu, false,
				    check->events->checked_ns ? check->events->checked_ns
							      : check->now_ns);
	}
}

/*
 * Reports CPUs that are present without events: they were offline when the events were opened. A
 * CPU that is possible but not present does not belong to this host.
 */
static int perf_hotplug_report_absent(const struct hotplug_check *check)
{
	struct perf_events *events = check->events;
	_cleanup_(cpu_list_done) struct cpu_list present = { 0 };
	_cleanup_free_ char *text = NULL;
	int r = file_read("/sys/devices/system/cpu/present", 65536, &text, NULL);

	if (r == 0)
		r = cpu_list_parse(text, &present);
	for (size_t i = 0; r == 0 && i < present.cpus.count; i++) {
		struct cpu_events absent = { .cpu = present.cpus.items[i] };

		if (!events_cpu(events, absent.cpu))
			perf_hotplug_notify(check, &absent, false, 0);
	}
	return r == -ENOMEM ? r : 0;
}

static int perf_hotplug_check_online_list(struct hotplug_check *check)
{
	struct perf_events *events = check->events;
	_cleanup_(cpu_list_done) struct cpu_list online = { 0 };
	int r = events_read_online(events);

	if (r < 0 || (events->online && strcmp(events->online_file.text, events->online) == 0))
		return r;
	r = cpu_list_parse(events->online_file.text, &online);
	if (r < 0)
		return r;
	perf_hotplug_check_offlined(check, &online);
	r = perf_hotplug_check_onlined(check, &online);
	free(events->online);
	events->online = r == 0 ? strdup(events->online_file.text) : NULL;
	return r;
}

/* Returns whether the machine was suspended since the last check. */
static bool perf_hotplug_update_slept_ns(struct perf_events *events)
{
	uint64_t boottime_ns = clock_ns(CLOCK_BOOTTIME), monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t slept_ns = boottime_ns - MIN(boottime_ns, monotonic_ns);
	bool longer = events->checked_ns && slept_ns > events->slept_ns + SLEPT_MIN_NS;

	events->slept_ns = slept_ns;
	return longer;
}

/*
 * Reads the enabled time of the CPU's event. Returns true if that time did not advance since the
 * last check. If it advanced, sets online_ns.
 */
static bool perf_hotplug_update_enabled(const struct perf_events *events, struct cpu_events *cpu)
{
	enum perf_ring ring =
		cpu->channels[PERF_RING_SAMPLES] ? PERF_RING_SAMPLES : PERF_RING_SIDEBAND;
	uint64_t before_ns = cpu->enabled_ns;
	struct perf_channel_counts counts;

	if (perf_channel_counts(cpu->channels[ring], &counts) < 0)
		return false;
	cpu->enabled_ns = counts.enabled_ns;
	if (before_ns && counts.enabled_ns > before_ns)
		cpu->online_ns = events->checked_ns;
	return before_ns && counts.enabled_ns == before_ns;
}

static int perf_hotplug_check_cpu(struct hotplug_check *check, struct cpu_events *cpu)
{
	if (!perf_hotplug_update_enabled(check->events, cpu))
		return 0;
	perf_hotplug_notify(check, cpu, false, cpu->online_ns);
	return perf_hotplug_add_returned(check, cpu->cpu);
}

static int perf_hotplug_check_silent(struct hotplug_check *check)
{
	struct perf_events *events = check->events;
	size_t left = events->full_checks ? events->cpus.count : CHECKS_PER_REFRESH;
	size_t first = events->next_check;
	int r = 0;

	for (size_t i = 0; r == 0 && i < events->cpus.count; i++) {
		size_t at = (first + i) % events->cpus.count;
		struct cpu_events *cpu = &events->cpus.items[at];

		if (!cpu->channels[PERF_RING_SIDEBAND] || cpu->offline)
			continue;
		if (cpu->had_record && !events->full_checks) {
			cpu->had_record = false;
			cpu->enabled_ns = 0;
			cpu->online_ns = events->checked_ns;
			continue;
		}
		if (!left--)
			break;
		r = perf_hotplug_check_cpu(check, cpu);
		events->next_check = at + 1;
	}
	events->full_checks -= !!events->full_checks;
	if (r < 0)
		return r;
	return perf_hotplug_reopen_returned(check);
}

int perf_events_refresh(struct perf_events *events, uint64_t now_ns,
			void (*changed)(void *context, uint32_t cpu, bool online, uint64_t time_ns),
			void *context, struct error *error)
{
	struct hotplug_check check = { .events = events,
				       .now_ns = now_ns,
				       .changed = changed,
				       .context = context,
				       .error = error };
	int result = events->checked_ns ? 0 : perf_hotplug_report_absent(&check), r;

	if (perf_hotplug_update_slept_ns(events))
		events->full_checks = FULL_CHECKS_AFTER_SLEEP;
	r = perf_hotplug_check_online_list(&check);
	result = result ? result : r;
	r = perf_hotplug_check_silent(&check);
	events->checked_ns = now_ns;
	array_done(&check.returned);
	return result ? result : r;
}
