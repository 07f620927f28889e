// SPDX-License-Identifier: GPL-2.0-only
#include "cli/window/log-map.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>

#include "base/clock.h"
#include "incidents/patterns/field-rows.h"
#include "tape/clocks.h"

/*
 * A starved logger may write a line late, and a log's clock may be off. So add this to the error
 * that the log itself implies for a line's time.
 */
#define LATE_NS (900 * NSEC_PER_SEC)

static int log_map_read(const char *path, struct log_map *map, struct error *error)
{
	int r = store_reader_open(path, &map->reader, error);

	if (r < 0)
		return r;
	r = book_open(map->reader, &map->book, error);
	return r < 0 ? r : store_reader_find(map->reader, 0, UINT64_MAX, &map->segments, error);
}

int log_map_open(const char *path, struct log_map *ret_map, struct error *error)
{
	struct log_map map = { 0 };
	int r = log_map_read(path, &map, error);

	if (r < 0) {
		log_map_done(&map);
		return r;
	}
	*ret_map = map;
	return 0;
}

void log_map_done(struct log_map *map)
{
	tape_free(map->tape);
	array_done(&map->segments.list);
	book_done(&map->book);
	store_reader_close(map->reader);
}

/* Returns whether the boot is the chosen one, or the user did not choose a boot. */
static bool log_map_counts(const struct log_map *map, const char *boot_id)
{
	return !map->boot || strncasecmp(boot_id, map->boot, strlen(map->boot)) == 0;
}

bool log_map_has_boot(const struct log_map *map)
{
	for (size_t i = 0; i < map->segments.list.count; i++)
		if (log_map_counts(map, map->segments.list.items[i].boot_id))
			return true;
	for (size_t i = 0; i < map->book.rows.count; i++)
		if (log_map_counts(map, book_text(&map->book, map->book.rows.items[i].boot_id)))
			return true;
	return !map->boot;
}

static uint64_t log_map_outside(uint64_t time_ns, uint64_t from_ns, uint64_t to_ns)
{
	return time_ns < from_ns ? from_ns - time_ns : time_ns > to_ns ? time_ns - to_ns : 0;
}

/*
 * A log in order needs each tape once. The lines of a forged log may jump between tapes, and each
 * jump loads one. So this many loads beyond the number of segments are allowed.
 */
#define LOADS_FREE 4096

bool log_map_load(struct log_map *map, const struct store_segment *segment)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_CONTEXT, 1 };
	int r;

	if (map->tape && strcmp(map->tape_name, segment->name) == 0)
		return true;
	if (map->loads >= LOADS_FREE + map->segments.list.count) {
		map->unplaced++;
		return false;
	}
	map->loads++;
	map->tape = tape_free(map->tape);
	r = store_reader_load(map->reader, segment, &want, &map->tape, NULL);
	if (r == -ENOMEM)
		map->failed = r;
	if (r < 0)
		return false;
	memcpy(map->tape_name, segment->name, sizeof(map->tape_name));
	return map->tape->anchors.count > 0;
}

/*
 * Sets *ret_off_ns to the distance of the stamp from the segment's time, according to the segment's
 * header. Returns false if the line cannot be from that boot.
 */
static bool is_possible(const struct store_segment *segment, const struct incident *incident,
			uint64_t *ret_off_ns)
{
	const struct moment *said = &incident->moment;
	uint64_t time_ns = segment->begin_ns + (said->uptime_ns - segment->perf_begin_ns);
	uint64_t off_ns =
		log_map_outside(said->uptime_ns, segment->perf_begin_ns, segment->perf_end_ns);

	*ret_off_ns = off_ns;
	/* a time in the future means that the line is from another boot or host */
	if (off_ns && time_ns > clock_ns(CLOCK_REALTIME) + clocks_error_beside(LATE_NS, off_ns))
		return false;
	if (*segment->damage ||
	    (*incident->boot_id && !same_boot(segment->boot_id, incident->boot_id)))
		return false;
	return !said->has_time || log_map_outside(said->realtime_ns, time_ns, time_ns) <=
					  clocks_error_beside(LATE_NS + said->error_ns, off_ns);
}

/*
 * Returns the segment nearest to a stamp, or NULL. If the log names the boot, searches this boot.
 * Otherwise searches the boots in which the time of the line is possible, or, if the line has no
 * time, the latest boot.
 */
static const struct store_segment *nearest_segment(const struct log_map *map,
						   const struct incident *incident)
{
	bool any_boot = !*incident->boot_id && incident->moment.has_time;
	const struct store_segment *nearest = NULL;
	uint64_t least_ns = UINT64_MAX, off_ns;

	for (size_t i = map->segments.list.count; i-- > 0;) {
		const struct store_segment *segment = &map->segments.list.items[i];

		if (!log_map_counts(map, segment->boot_id) ||
		    !is_possible(segment, incident, &off_ns) || off_ns >= least_ns ||
		    (nearest && !any_boot && !same_boot(segment->boot_id, nearest->boot_id)))
			continue;
		nearest = segment;
		least_ns = off_ns;
		if (!off_ns)
			break;
	}
	return nearest;
}

static void place_by_anchors(struct log_map *map, const struct incident *incident,
			     struct log_place *place)
{
	const struct moment *said = &incident->moment;
	const struct store_segment *segment = nearest_segment(map, incident);
	uint64_t error_ns, off_ns;

	if (!segment || !log_map_load(map, segment))
		return;
	off_ns = log_map_outside(said->uptime_ns, segment->perf_begin_ns, segment->perf_end_ns);
	place->moment.has_time = true;
	place->moment.realtime_ns = tape_to_realtime(map->tape, said->uptime_ns, &error_ns);
	place->moment.error_ns = clocks_error_beside(error_ns + NSEC_PER_USEC, off_ns);
	place->moment.error_ns += place->stamp_error_ns;
	place->how = LOG_PLACE_ANCHORS;
	snprintf(place->boot_id, sizeof(place->boot_id), "%s", segment->boot_id);
}

static bool same_value(const struct field *a, const struct field *b)
{
	return b && a->size == b->size && memcmp(a->value, b->value, a->size) == 0;
}

/* Compares only fields that both lines have, because a log may be truncated. */
static bool same_fields(const struct fields *a, const struct fields *b)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct field *other = fields_find(b, a->list[i].name);

		if (other && !same_value(&a->list[i], other))
			return false;
	}
	return true;
}

static bool may_be_row(const struct log_map *map, const struct book_row *row,
		       const struct log_place *place)
{
	const char *boot_id = book_text(&map->book, row->boot_id);
	const struct moment *moment = &place->moment;

	if ((*place->boot_id && *boot_id && !same_boot(place->boot_id, boot_id)) ||
	    !log_map_counts(map, boot_id))
		return false;
	/* the two stamps must be equal, except for digits that a log format drops */
	if (place->how == LOG_PLACE_ANCHORS && row->perf_ns)
		return log_map_outside(row->perf_ns, moment->uptime_ns, moment->uptime_ns) <
		       NSEC_PER_MSEC + place->stamp_error_ns;
	return !moment->has_time ||
	       log_map_outside(row->time_ns, moment->realtime_ns, moment->realtime_ns) <=
		       LATE_NS + moment->error_ns;
}

/* Returns the first row that is not before a moment. */
static size_t first_row(const struct book *book, uint64_t time_ns)
{
	size_t low = 0, high = book->rows.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (book->rows.items[middle].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the nearest recorded incident of the same kind and fields, or NULL. */
static const struct book_row *log_map_find_row(struct log_map *map, const struct incident *incident,
					       struct log_place *place)
{
	_cleanup_(buffer_done) struct buffer names = { 0 };
	const struct book_row *found = NULL;
	uint64_t least_ns = UINT64_MAX;
	const struct moment *moment = &place->moment;
	uint64_t reach_ns = LATE_NS + moment->error_ns;
	size_t others = 0, i = 0;

	if (moment->has_time)
		i = first_row(&map->book, moment->realtime_ns - MIN(moment->realtime_ns, reach_ns));
	for (; i < map->book.rows.count; i++) {
		const struct book_row *row = &map->book.rows.items[i];
		uint64_t apart_ns =
			place->moment.has_time
				? log_map_outside(row->time_ns, place->moment.realtime_ns,
						  place->moment.realtime_ns)
				: 0;
		struct fields fields;

		if (moment->has_time && row->time_ns > moment->realtime_ns + reach_ns)
			break;
		if (strcmp(map->book.kinds.items[row->kind].name, incident->kind->name) != 0 ||
		    !may_be_row(map, row, place) ||
		    field_rows_read(book_text(&map->book, row->fields), &names, &fields) < 0 ||
		    !same_fields(&incident->fields, &fields))
			continue;
		others += apart_ns > place->moment.error_ns;
		place->alike += !moment->has_time;
		if (moment->has_time && apart_ns >= least_ns)
			continue;
		found = row;
		least_ns = apart_ns;
	}
	if (buffer_failed(&names))
		map->failed = -ENOMEM;
	if (place->alike > 1 && !map->guesses)
		return NULL;
	/* several recorded lines are equal, and none of them is near enough to be sure */
	if (found && least_ns > place->moment.error_ns && others > 1)
		return NULL;
	return found;
}

static void log_map_take_row(const struct log_map *map, const struct book_row *row,
			     struct log_place *place)
{
	place->moment.has_time = true;
	place->moment.realtime_ns = row->time_ns;
	place->moment.error_ns = row->error_ns;
	if (row->perf_ns) {
		place->moment.has_uptime = true;
		place->moment.uptime_ns = row->perf_ns;
	}
	if (*book_text(&map->book, row->boot_id))
		snprintf(place->boot_id, sizeof(place->boot_id), "%s",
			 book_text(&map->book, row->boot_id));
	place->how = LOG_PLACE_LINE;
	place->id = row->id;
}

/* The recorder may read a line with up to this delay, so the line may be in the next segment. */
#define READ_NS (5 * NSEC_PER_SEC)

/*
 * Returns whether the recorded line is the incident's line and a user wrote it. Some log formats
 * truncate the stamp, and put text around the line.
 */
static bool is_users_line(const struct tape *tape, const struct tape_line *line,
			  const struct incident *incident)
{
	const char *text = tape_string(tape, line->text);

	return line->priority >> 3 != 0 &&
	       log_map_outside(line->time_ns, incident->moment.uptime_ns,
			       incident->moment.uptime_ns) < NSEC_PER_MSEC &&
	       memmem(incident->line, incident->line_size, text, strlen(text));
}

static bool has_users_line(struct log_map *map, const struct store_segment *segment,
			   const struct incident *incident)
{
	if (!log_map_load(map, segment))
		return false;
	for (size_t i = 0; i < map->tape->lines.count; i++)
		if (is_users_line(map->tape, &map->tape->lines.items[i], incident))
			return true;
	return false;
}

/*
 * Returns whether a user wrote the line, according to the segment of the line's time or the next
 * segment.
 */
static bool is_users(struct log_map *map, const struct incident *incident)
{
	const struct store_segment *segment = nearest_segment(map, incident), *next, *end;

	if (!segment)
		return false;
	if (has_users_line(map, segment, incident))
		return true;
	next = segment + 1;
	end = map->segments.list.items + map->segments.list.count;
	return incident->moment.uptime_ns + READ_NS >= segment->perf_end_ns && next < end &&
	       same_boot(next->boot_id, segment->boot_id) && has_users_line(map, next, incident);
}

static enum covered log_map_covered(struct log_map *map, const struct incident *incident,
				    const struct log_place *place)
{
	uint64_t time_ns = place->moment.realtime_ns;
	uint64_t stall_ns = incident->has_stall ? MIN(incident->stall_ns, time_ns) : 0;

	if (!place->moment.has_time)
		return COVERED_NOT;
	return segments_covered(&map->segments, place->boot_id, time_ns - stall_ns, time_ns);
}

int log_map_place(struct log_map *map, const struct incident *incident, struct log_place *ret_place)
{
	struct log_place place = { .moment = incident->moment };
	const struct book_row *row;

	snprintf(place.boot_id, sizeof(place.boot_id), "%s", incident->boot_id);
	if (incident->moment.has_uptime && !incident->moment.has_time)
		place.stamp_error_ns = incident->moment.error_ns;
	if (!map->reader) {
		*ret_place = place;
		return 0;
	}
	if (incident->moment.has_uptime)
		place_by_anchors(map, incident, &place);
	row = log_map_find_row(map, incident, &place);
	if (row)
		log_map_take_row(map, row, &place);
	else if (place.how == LOG_PLACE_ANCHORS)
		place.forged = is_users(map, incident);
	place.covered = log_map_covered(map, incident, &place);
	*ret_place = place;
	return map->failed;
}
