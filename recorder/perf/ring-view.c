// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf/ring-view.h"

#include <string.h>

#include "base/cleanup.h"
#include "recorder/perf/perf-record.h"

size_t ring_view_size(const struct ring_view *view, uint64_t at)
{
	uint8_t room[PERF_HEADER_SIZE];
	const uint8_t *header;
	size_t size;

	if (at < view->tail || at >= view->head || view->head - at < PERF_HEADER_SIZE)
		return 0;
	header = ring_view_bytes(view, at, PERF_HEADER_SIZE, room);
	size = header[6] | header[7] << 8;
	return size >= PERF_HEADER_SIZE && size <= view->head - at && size <= view->size ? size : 0;
}

const uint8_t *ring_view_bytes(const struct ring_view *view, uint64_t at, size_t size,
			       uint8_t *room)
{
	size_t offset = at & (view->size - 1), first = MIN(size, view->size - offset);

	if (first == size)
		return view->bytes + offset;
	memcpy(room, view->bytes + offset, first);
	memcpy(room + first, view->bytes, size - first);
	return room;
}
