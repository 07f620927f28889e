// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/store-host.h"

#include <string.h>

#include "base/cleanup.h"

/* Adds the facts of a segment. Returns 1, or 0 if the segment cannot be read. */
static int store_host_add(struct store_reader *reader, const struct store_segment *segment,
			  struct recorded_facts *facts, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, 0, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	/* the error of a skipped segment must not become the error of a later failure */
	struct error own = { 0 };
	int r = store_reader_load(reader, segment, &want, &tape, &own);

	if (error_is_exhaustion(r) && error)
		*error = own;
	if (r < 0)
		return error_is_exhaustion(r) ? r : 0;
	recorded_facts_add(facts, tape);
	return 1;
}

static int store_host_add_ends(struct store_reader *reader, const struct store_segments *segments,
			       bool unsealed, struct recorded_facts *facts, struct error *error)
{
	const struct store_segment *items = segments->list.items;
	size_t first = 0, end = segments->list.count;
	int r = 0;

	for (; r == 0 && first < end; first++)
		if (items[first].unsealed == unsealed)
			r = store_host_add(reader, &items[first], facts, error);
	if (r < 0)
		return r;
	for (r = 0; r == 0 && end > first; end--)
		if (items[end - 1].unsealed == unsealed)
			r = store_host_add(reader, &items[end - 1], facts, error);
	return MIN(r, 0);
}

static int store_host_add_window(struct store_reader *reader, const struct window *window,
				 struct recorded_facts *facts, struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = store_reader_list(reader, window->from_ns, window->to_ns, &segments, error);

	if (r < 0)
		return r;
	r = store_host_add_ends(reader, &segments, false, facts, error);
	if (r < 0)
		return r;
	/* use unsealed segments only if necessary, because they must be decoded completely */
	if (!*facts->host)
		return store_host_add_ends(reader, &segments, true, facts, error);
	return 0;
}

int store_host_find(struct store_reader *reader, const struct window *window,
		    struct recorded_facts *facts, struct error *error)
{
	int r = store_host_add_window(reader, window, facts, error);

	return r < 0 || *facts->host ? r : store_host_find_all(reader, facts, error);
}

int store_host_find_all(struct store_reader *reader, struct recorded_facts *facts,
			struct error *error)
{
	static const struct window all = { .to_ns = UINT64_MAX };
	struct recorded_facts own = { 0 };
	int r = store_host_add_window(reader, &all, &own, error);

	/* the event and the frequency are those of another window */
	memcpy(facts->host, own.host, sizeof(facts->host));
	return r;
}
