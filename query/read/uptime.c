// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/uptime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tape/clocks.h"

static bool is_of_boot(const struct store_segment *segment, const char *boot)
{
	return !segment->damage[0] && strncmp(segment->boot_id, boot, strlen(boot)) == 0;
}

/*
 * Returns the segment that ends last among the segments whose boot ID starts with `boot`, or NULL.
 */
static const struct store_segment *uptime_latest(const struct store_segments *segments,
						 const char *boot)
{
	const struct store_segment *found = NULL;

	for (size_t i = 0; i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];

		if (is_of_boot(segment, boot) && (!found || segment->end_ns > found->end_ns))
			found = segment;
	}
	return found;
}

static int choose_boot(const struct store_segments *segments, const char *boot, char ret_id[40],
		       struct error *error)
{
	const struct store_segment *found = uptime_latest(segments, boot ? boot : "");

	if (!found && boot)
		return error_set(
			error, -ENXIO,
			"nothing is recorded of boot \"%.40s\"; see `perftape segments --json`",
			boot);
	if (!found)
		return error_set(error, -EINVAL,
				 "no boot is recorded; use a time of the wall clock");
	for (size_t i = 0; boot && i < segments->list.count; i++) {
		const struct store_segment *other = &segments->list.items[i];

		if (is_of_boot(other, boot) && strcmp(other->boot_id, found->boot_id) != 0)
			return error_set(
				error, -EINVAL,
				"several boots begin with \"%.40s\": %s and %s; use more digits",
				boot, found->boot_id, other->boot_id);
	}
	snprintf(ret_id, 40, "%s", found->boot_id);
	return 0;
}

static uint64_t uptime_distance(const struct store_segment *segment, uint64_t uptime_ns)
{
	if (uptime_ns < segment->perf_begin_ns)
		return segment->perf_begin_ns - uptime_ns;
	return uptime_ns > segment->perf_end_ns ? uptime_ns - segment->perf_end_ns : 0;
}

static const struct store_segment *uptime_nearest(const struct store_segments *segments,
						  const char *boot_id, uint64_t uptime_ns)
{
	const struct store_segment *found = NULL;

	for (size_t i = 0; i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];

		if (segment->damage[0] || strcmp(segment->boot_id, boot_id) != 0)
			continue;
		if (!found ||
		    uptime_distance(segment, uptime_ns) < uptime_distance(found, uptime_ns))
			found = segment;
	}
	return found;
}

static int uptime_convert(struct store_reader *reader, const struct store_segment *segment,
			  uint64_t uptime_ns, struct uptime_moment *ret_moment, struct error *error)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct segment_want want = { .to_ns = UINT64_MAX, .parts = SEGMENT_LOSSES };
	int r = store_reader_load(reader, segment, &want, &tape, error);

	if (r < 0)
		return r;
	ret_moment->beside_ns = uptime_distance(segment, uptime_ns);
	ret_moment->realtime_ns =
		clocks_from_perf(tape, CLOCKS_REALTIME, uptime_ns, &ret_moment->error_ns);
	ret_moment->error_ns = clocks_error_beside(ret_moment->error_ns, ret_moment->beside_ns);
	if (!ret_moment->realtime_ns)
		return error_set(
			error, -EINVAL,
			"boot %s has no reading of the wall clock; use a time of that clock",
			ret_moment->boot_id);
	return 0;
}

int uptime_find(struct store_reader *reader, uint64_t uptime_ns, const char *boot,
		struct uptime_moment *ret_moment, struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	struct uptime_moment moment = { 0 };
	int r = store_reader_find(reader, 0, UINT64_MAX, &segments, error);

	if (r < 0)
		return r;
	r = choose_boot(&segments, boot, moment.boot_id, error);
	if (r < 0)
		return r;
	r = uptime_convert(reader, uptime_nearest(&segments, moment.boot_id, uptime_ns), uptime_ns,
			   &moment, error);
	if (r < 0)
		return r;
	*ret_moment = moment;
	return 0;
}
