// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf/perf-channel.h"

#include <errno.h>
#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/event.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/mmap.h>
#include <perf/threadmap.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * libperf cannot add a CPU to an open event list, or remove a CPU. Therefore each CPU has its own
 * lists.
 */

struct perf_channel {
	struct perf_evlist *list;
	/* The first event of the list. */
	struct perf_evsel *event;
	/* 0: no ring is mapped. */
	size_t ring_bytes;
};

static int perf_channel_print_nothing(enum libperf_print_level level, const char *format,
				      va_list args)
{
	return 0;
}

void perf_channel_setup(void)
{
	libperf_init(perf_channel_print_nothing);
}

/*
 * libperf returns 0, -1 with errno set, or a negative errno. Converts all three to 0 or a negative
 * errno.
 */
static int perf_channel_errno(int r)
{
	if (r >= 0)
		return 0;
	return r == -1 ? (errno ? -errno : -ENOMEM) : r;
}

static int perf_channel_add_event(struct perf_channel *channel, const struct perf_event_attr *attr)
{
	struct perf_event_attr copy = *attr;
	struct perf_evsel *event = perf_evsel__new(&copy);

	if (!event)
		return -ENOMEM;
	perf_evlist__add(channel->list, event);
	channel->event = channel->event ? channel->event : event;
	return 0;
}

static int perf_channel_open_list(struct perf_channel *channel, const struct perf_event_attr *attrs,
				  size_t count, uint32_t cpu)
{
	struct perf_thread_map *threads;
	struct perf_cpu_map *map;
	char number[16];

	snprintf(number, sizeof(number), "%u", cpu);
	channel->list = perf_evlist__new();
	if (!channel->list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (perf_channel_add_event(channel, &attrs[i]) < 0)
			return -ENOMEM;
	map = perf_cpu_map__new(number);
	/* the dummy map means all threads; without a map, libperf crashes if an event has an id */
	threads = perf_thread_map__new_dummy();
	if (map && threads)
		perf_evlist__set_maps(channel->list, map, threads);
	perf_cpu_map__put(map);
	perf_thread_map__put(threads);
	if (!map || !threads)
		return -ENOMEM;
	errno = 0;
	return perf_channel_errno(perf_evlist__open(channel->list));
}

int perf_channel_open(const struct perf_event_attr *attrs, size_t count, uint32_t cpu,
		      struct perf_channel **ret_channel)
{
	struct perf_channel *channel = calloc(1, sizeof(*channel));
	int r = channel ? perf_channel_open_list(channel, attrs, count, cpu) : -ENOMEM;

	if (r < 0) {
		perf_channel_close(channel);
		return r;
	}
	*ret_channel = channel;
	return 0;
}

struct perf_channel *perf_channel_close(struct perf_channel *channel)
{
	if (!channel)
		return NULL;
	if (channel->list) {
		if (channel->ring_bytes)
			perf_evlist__munmap(channel->list);
		perf_evlist__close(channel->list);
		perf_evlist__delete(channel->list);
	}
	free(channel);
	return NULL;
}

int perf_channel_map(struct perf_channel *channel, size_t bytes)
{
	int r;

	errno = 0;
	r = perf_channel_errno(perf_evlist__mmap(channel->list, bytes / sysconf(_SC_PAGESIZE)));
	if (r < 0)
		return r;
	channel->ring_bytes = bytes;
	return 0;
}

void perf_channel_enable(struct perf_channel *channel)
{
	perf_evlist__enable(channel->list);
}

void perf_channel_disable(struct perf_channel *channel)
{
	perf_evlist__disable(channel->list);
}

/* The list has one CPU, and therefore one ring. */
static struct perf_mmap *perf_channel_ring(const struct perf_channel *channel)
{
	return channel->ring_bytes ? perf_evlist__next_mmap(channel->list, NULL, false) : NULL;
}

/*
 * libperf looks for new records after each record, so a drain might never end; this function bounds
 * it. It does not call perf_mmap__read_done(), which would skip all records that came since the
 * last check.
 */
int perf_channel_drain(struct perf_channel *channel,
		       int (*handle)(void *context, const uint8_t *record, size_t size),
		       void *context)
{
	struct perf_mmap *map = perf_channel_ring(channel);
	union perf_event *event;
	size_t taken = 0;
	int r = 0;

	if (!map || perf_mmap__read_init(map) < 0)
		return 0;
	while (r >= 0 && taken < channel->ring_bytes && (event = perf_mmap__read_event(map))) {
		taken += event->header.size;
		r = handle(context, (const uint8_t *)event, event->header.size);
		perf_mmap__consume(map);
	}
	return r < 0 ? r : 0;
}

/* perf_mmap__read_init() also succeeds on an empty ring, so check the event. */
bool perf_channel_take_sample(struct perf_channel *channel)
{
	struct perf_mmap *map = perf_channel_ring(channel);
	union perf_event *event = NULL;

	if (map && perf_mmap__read_init(map) == 0)
		event = perf_mmap__read_event(map);
	return event && event->header.type == PERF_RECORD_SAMPLE;
}

int perf_channel_counts(const struct perf_channel *channel, struct perf_channel_counts *ret_counts)
{
	struct perf_counts_values values = { 0 };
	int r = perf_evsel__read(channel->event, 0, 0, &values);

	if (r < 0)
		return perf_channel_errno(r);
	*ret_counts =
		(struct perf_channel_counts){ values.val, values.ena, values.lost, values.id };
	return 0;
}
