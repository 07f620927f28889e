// SPDX-License-Identifier: GPL-2.0-only
#include "audit/history.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "query/read/series.h"
#include "tape/tape-events.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
/*
 * The recorder writes events about dying cgroups at least once per minute. Older events are out of
 * date.
 */
#define DYING_NS (150 * NSEC_PER_SEC)

/*
 * The recorded figures that the audit reads. Most other figures are those of single CPUs, which do
 * not help here.
 */
static const char *const wanted[] = { "memory_cgroups/", "unit/", "containers/", "net/",
				      "vmstat/oom_kill" };

static bool history_wants(void *context, const char *name)
{
	(void)context;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (strncmp(name, wanted[i], strlen(wanted[i])) == 0)
			return true;
	return false;
}

/*
 * When a level falls by half, reclaim freed what the level counts, or the host was rebooted. Older
 * readings then do not show the level's trend.
 */
static void history_restart(struct host_figure *figure, const struct series_step *step)
{
	if (step->unit != SERIES_LEVEL || step->value >= figure->recorded_last / 2)
		return;
	figure->from_ns = step->to_ns;
	figure->recorded_first = step->value;
}

static int see_step(void *context, const struct series_step *step)
{
	struct host *host = context;
	struct host_figure *figure;
	int r = host_name(host, step->name, &figure);

	if (r < 0)
		return r;
	if (!figure->from_ns) {
		figure->from_ns = step->to_ns;
		figure->recorded_first = step->value;
	} else if (step->has_figure && step->from_ns < step->to_ns) {
		int64_t grown = step->value - figure->recorded_last;

		figure->grown += grown;
		if (grown > 0)
			figure->grew_ns = step->to_ns;
		if (step->to_ns + HOUR_NS >= host->now_ns)
			figure->grown_hour += grown;
	}
	history_restart(figure, step);
	figure->to_ns = step->to_ns;
	figure->recorded_last = step->value;
	if (!host->recorded_from_ns)
		host->recorded_from_ns = step->to_ns;
	host->recorded_from_ns = MIN(host->recorded_from_ns, step->to_ns);
	host->recorded_to_ns = MAX(host->recorded_to_ns, step->to_ns);
	if (strcmp(step->name, "memory_cgroups/dying") == 0)
		r = array_push(&host->dying_points,
			       (struct host_point){ step->to_ns, step->value });
	return r;
}

static int see_dying(struct host *host, const struct tape *tape, const struct tape_event *event)
{
	struct host_dying dying = {
		.count = tape_event_number(tape, event, TAPE_DYING_COUNT),
		.oldest_s = tape_event_number(tape, event, TAPE_DYING_OLDEST),
	};

	host->dying_counted_s = tape_event_number(tape, event, TAPE_DYING_COUNTED);
	host->dying_unsure = tape_event_number(tape, event, TAPE_DYING_UNSURE);
	tape_event_copy(tape, event, TAPE_DYING_PREFIX, dying.prefix, sizeof(dying.prefix));
	tape_event_copy(tape, event, TAPE_DYING_MADE_BY, dying.made_by, sizeof(dying.made_by));
	tape_event_copy(tape, event, TAPE_DYING_REMOVED_BY, dying.removed_by,
			sizeof(dying.removed_by));
	return array_push(&host->dying, dying);
}

/* Events of the same time belong together. Events of a later time replace all earlier ones. */
static int history_see_tape(void *context, const struct tape *tape)
{
	struct host *host = context;
	int r = 0;

	for (size_t i = 0; r == 0 && i < tape->events.count; i++) {
		const struct tape_event *event = &tape->events.items[i];
		uint64_t time_ns;

		if (strcmp(tape_string(tape, event->name), TAPE_EVENT_DYING) != 0)
			continue;
		time_ns = tape_to_realtime(tape, event->time_ns, NULL);
		if (time_ns > host->now_ns || time_ns + NSEC_PER_SEC < host->dying_ns)
			continue;
		if (time_ns > host->dying_ns + NSEC_PER_SEC)
			host->dying.count = 0;
		host->dying_ns = MAX(host->dying_ns, time_ns);
		r = see_dying(host, tape, event);
	}
	return r;
}

static void sort_dying(struct host *host)
{
	struct host_dying *items = host->dying.items;

	for (size_t i = 1; i < host->dying.count; i++) {
		struct host_dying dying = items[i];
		size_t at = i;

		for (; at && items[at - 1].count < dying.count; at--)
			items[at] = items[at - 1];
		items[at] = dying;
	}
}

/*
 * Drops the dying cgroups if the last event is old. The recorder writes events as long as any
 * cgroup is dying, so no cgroup is dying any more.
 */
static void drop_ended(struct host *host)
{
	if (host->dying_ns + DYING_NS < host->recorded_to_ns)
		host->dying.count = 0;
}

int history_read(struct host *host, struct error *error)
{
	const struct audit_options *options = host->options;
	const struct filter filter = { .comm = NULL };
	const struct series_options of = {
		.question = {
			.window = { .from_ns = host->now_ns - MIN(host->now_ns, AUDIT_HISTORY_NS),
				.to_ns = host->now_ns },
			.filter = &filter,
		},
		.wants = history_wants,
		.see = see_step,
		.see_tape = history_see_tape,
		.context = host,
		.progress = options->progress,
		.progress_context = options->progress_context,
	};
	struct coverage coverage = { 0 };
	int r = series_run(options->reader, &of, &coverage, error);

	array_done(&coverage.gaps);
	drop_ended(host);
	sort_dying(host);
	return r;
}
