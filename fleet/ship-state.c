// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/ship-state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The magic ends with the version of the layout. */
static const char magic[8] = { 'P', 'T', 'S', 'H', 'I', 'P', 'S', '1' };

void ship_state_done(struct ship_state *state)
{
	array_done(&state->segments.list);
	array_done(&state->incidents.list);
	array_done(&state->windows);
	*state = (struct ship_state){ 0 };
}

static void ship_state_put_marks(const struct ship_marks *marks, struct buffer *bytes)
{
	buffer_u64(bytes, marks->list.count);
	for (size_t i = 0; i < marks->list.count; i++)
		buffer_u64(bytes, marks->list.items[i]);
}

void ship_state_encode(const struct ship_state *state, struct buffer *bytes)
{
	size_t begin = bytes->size;

	buffer_bytes(bytes, magic, sizeof(magic));
	buffer_u64(bytes, state->server);
	buffer_u64(bytes, state->round);
	buffer_u64(bytes, state->batch);
	buffer_u64(bytes, state->shipped_to_ns);
	buffer_u64(bytes, state->facts_day);
	ship_state_put_marks(&state->segments, bytes);
	ship_state_put_marks(&state->incidents, bytes);
	buffer_u64(bytes, state->windows.count);
	for (size_t i = 0; i < state->windows.count; i++) {
		buffer_u64(bytes, state->windows.items[i].from_ns);
		buffer_u64(bytes, state->windows.items[i].to_ns);
	}
	if (!bytes->failed)
		buffer_u32(bytes, crc32c(0, bytes->data + begin, bytes->size - begin));
}

/* Reads a count of items, which the rest must be able to hold. */
static uint64_t ship_state_take_count(struct reader *reader, size_t item_size)
{
	uint64_t count = reader_u64(reader);

	if (count <= reader_left(reader) / item_size)
		return count;
	reader_fail(reader);
	return 0;
}

static int ship_state_take_marks(struct reader *reader, struct ship_marks *marks)
{
	uint64_t count = ship_state_take_count(reader, sizeof(uint64_t)), last = 0;

	if (array_reserve(&marks->list, count + 1) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t mark = reader_u64(reader);

		if (i && mark <= last)
			reader_fail(reader);
		last = mark;
		marks->list.items[marks->list.count++] = mark;
	}
	return 0;
}

static int ship_state_take_windows(struct reader *reader, struct ship_state *state)
{
	uint64_t count = ship_state_take_count(reader, 2 * sizeof(uint64_t));
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		struct ship_window window = { .from_ns = reader_u64(reader) };

		window.to_ns = reader_u64(reader);
		if (window.to_ns < window.from_ns)
			reader_fail(reader);
		r = array_push(&state->windows, window);
	}
	return r;
}

int ship_state_decode(const void *data, size_t size, struct ship_state *ret_state)
{
	_cleanup_(ship_state_done) struct ship_state state = { 0 };
	struct reader reader, end;
	const void *begin;
	int r;

	if (size < sizeof(magic) + sizeof(uint32_t))
		return -EBADMSG;
	reader_init(&reader, data, size - sizeof(uint32_t));
	reader_init(&end, (const uint8_t *)data + size - sizeof(uint32_t), sizeof(uint32_t));
	begin = reader_take(&reader, sizeof(magic));
	if (memcmp(begin, magic, sizeof(magic)) != 0 ||
	    reader_u32(&end) != crc32c(0, data, size - sizeof(uint32_t)))
		return -EBADMSG;
	state.server = reader_u64(&reader);
	state.round = reader_u64(&reader);
	state.batch = reader_u64(&reader);
	state.shipped_to_ns = reader_u64(&reader);
	state.facts_day = reader_u64(&reader);
	r = ship_state_take_marks(&reader, &state.segments);
	if (r < 0)
		return r;
	r = ship_state_take_marks(&reader, &state.incidents);
	if (r < 0)
		return r;
	r = ship_state_take_windows(&reader, &state);
	if (r < 0)
		return r;
	if (reader_failed(&reader) || reader_left(&reader))
		return -EBADMSG;
	*ret_state = state;
	state = (struct ship_state){ 0 };
	return 0;
}

/* Returns the place of the first mark that is not below this one. */
static size_t ship_marks_place(const struct ship_marks *marks, uint64_t mark)
{
	size_t low = 0, high = marks->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (marks->list.items[middle] < mark)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool ship_marks_has(const struct ship_marks *marks, uint64_t mark)
{
	size_t at = ship_marks_place(marks, mark);

	return at < marks->list.count && marks->list.items[at] == mark;
}

int ship_marks_add(struct ship_marks *marks, uint64_t mark)
{
	return array_push(&marks->list, mark);
}

static int ship_marks_compare(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

void ship_marks_sort(struct ship_marks *marks)
{
	size_t kept = 0;

	if (marks->list.count)
		qsort(marks->list.items, marks->list.count, sizeof(*marks->list.items),
		      ship_marks_compare);
	for (size_t i = 0; i < marks->list.count; i++)
		if (!kept || marks->list.items[kept - 1] != marks->list.items[i])
			marks->list.items[kept++] = marks->list.items[i];
	marks->list.count = kept;
}

int ship_state_add_window(struct ship_state *state, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < state->windows.count; i++) {
		struct ship_window *window = &state->windows.items[i];

		if (from_ns > window->to_ns || to_ns < window->from_ns)
			continue;
		window->from_ns = MIN(window->from_ns, from_ns);
		window->to_ns = MAX(window->to_ns, to_ns);
		return 0;
	}
	return array_push(&state->windows, (struct ship_window){ from_ns, to_ns });
}
