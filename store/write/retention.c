// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/size.h"
#include "store/write/retention-plan.h"
#include "store/disk/files.h"
#include "store/disk/segment-dir.h"
#include "store/disk/removed-ranges.h"
#include "store/disk/notes.h"
#include "store/disk/store-size.h"
#include "store/write/writer.h"

/*
 * To free disk space, retention removes at most 1/FLOOR_PART of the store within FLOOR_NS; see
 * struct store_limits.
 */
#define FLOOR_PART 8
#define FLOOR_NS (3600 * NSEC_PER_SEC)

/* The disk space for index and notes that each segment and its spool need. */
#define ROOM_BESIDE_BYTES (32u << 10)

struct retention {
	struct store_writer *writer;
	struct store_segments segments;
	struct segment_dir_names names;
	struct retention_plan plan;
	/* The size of all files in the store. */
	uint64_t bytes;
	/* The disk space of all files in the store. */
	uint64_t taken_bytes;
	uint64_t free_bytes, disk_bytes;
	struct error *error;
};

/*
 * Adds a pin for an incident. Incidents mostly come in bursts and in order, so near ones share a
 * pin.
 */
static int add_incident_pin(struct retention_plan *plan, uint64_t from_ns, uint64_t to_ns)
{
	struct retention_plan_pin pin = {
		.from_ns = from_ns - MIN(from_ns, STORE_PIN_AROUND_NS),
		.to_ns = to_ns + MIN(UINT64_MAX - to_ns, STORE_PIN_AROUND_NS),
		.until_ns = UINT64_MAX,
	};
	struct retention_plan_pin *last =
		plan->pins.count ? &plan->pins.items[plan->pins.count - 1] : NULL;

	if (!last || last->until_ns != UINT64_MAX || pin.from_ns > last->to_ns ||
	    pin.to_ns < last->from_ns)
		return array_push(&plan->pins, pin);
	last->from_ns = MIN(last->from_ns, pin.from_ns);
	last->to_ns = MAX(last->to_ns, pin.to_ns);
	return 0;
}

static int retention_see_incident(void *context, const struct store_incident *incident)
{
	return add_incident_pin(context, MIN(incident->time_ns, incident->stall_ns),
				MAX(incident->time_ns, incident->stall_ns));
}

static int retention_see_note(void *context, const struct note *note)
{
	struct retention_plan *plan = context;
	uint64_t stall_ns = note_u64(note, "stall_ns", note->realtime_ns);

	if (note->kind == NOTES_INCIDENT)
		return add_incident_pin(plan, MIN(stall_ns, note->realtime_ns),
					MAX(stall_ns, note->realtime_ns));
	if (note->kind != NOTES_PIN)
		return 0;
	return array_push(&plan->pins,
			  (struct retention_plan_pin){
				  .from_ns = note_u64(note, "from_ns", 0),
				  .to_ns = note_u64(note, "to_ns", 0),
				  .until_ns = MIN(note_u64(note, "until_ns", 0), UINT64_MAX - 1),
			  });
}

static int retention_see_row(void *context, const struct store_segment *segment)
{
	struct retention *retention = context;

	if (segment_dir_names_add(&retention->names, segment->name) < 0)
		return -ENOMEM;
	return array_push(&retention->segments.list, *segment);
}

/* Adds a spool that was set aside. Such a spool takes disk space like an unreadable segment. */
static int retention_see_spool_name(void *context, const char *name)
{
	struct retention *retention = context;
	struct store_segment segment = { .unsealed = true };
	char path[PATH_MAX];
	struct stat about;

	if (!store_name_ends(name, STORE_DAMAGED_SUFFIX) ||
	    store_file(retention->writer->spools, name, path, NULL) < 0 || lstat(path, &about) < 0)
		return 0;
	snprintf(segment.name, sizeof(segment.name), "%.63s", name);
	snprintf(segment.damage, sizeof(segment.damage), "a spool that cannot be read");
	segment.bytes = about.st_size;
	segment.end_ns = about.st_mtim.tv_sec * NSEC_PER_SEC + about.st_mtim.tv_nsec;
	return array_push(&retention->segments.list, segment);
}

/* Pins the whole time of each segment with incidents, if a sound index does not exist. */
static int pin_without_index(struct retention *retention)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < retention->segments.list.count; i++) {
		const struct store_segment *segment = &retention->segments.list.items[i];

		if (segment->incidents)
			r = add_incident_pin(&retention->plan, segment->begin_ns, segment->end_ns);
	}
	return r;
}

static int collect_index(struct retention *retention)
{
	struct store_writer *writer = retention->writer;
	struct error *error = retention->error;
	/* a dry writer uses the present index */
	bool is_old = !writer->dry && writer_is_behind(writer);
	int r = is_old ? writer_reconcile(writer, error) : 0;

	if (writer->dry && !writer->index)
		return -ENOENT;
	if (r != 0)
		return r;
	r = index_segments(writer->index, retention_see_row, retention, error);
	if (r != 0)
		return r;
	return index_incidents(writer->index, retention_see_incident, &retention->plan, error);
}

static int compare_ends(const void *a, const void *b)
{
	const struct store_segment *left = a, *right = b;

	if (left->end_ns != right->end_ns)
		return left->end_ns < right->end_ns ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* Drops rows whose files are gone, because such files do not take disk space. */
static int drop_absent(struct retention *retention)
{
	struct store_segments *segments = &retention->segments;
	size_t kept = 0;

	for (size_t i = 0; i < segments->list.count; i++) {
		int r = segment_dir_names_has(&retention->names, segments->list.items[i].name);

		if (r < 0)
			return r;
		if (r)
			segments->list.items[kept++] = segments->list.items[i];
	}
	segments->list.count = kept;
	return 0;
}

static int collect_segments(struct retention *retention, bool *ret_trusted)
{
	const char *path = retention->writer->path;
	int r = collect_index(retention);

	retention->writer->behind = r < 0;
	*ret_trusted = r == 0;
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		segment_dir_names_done(&retention->names);
		retention->names = (struct segment_dir_names){ 0 };
		retention->segments.list.count = 0;
	}
	r = segment_dir_find_unknown(path, &retention->names, &retention->segments,
				     retention->error);
	return r < 0 ? r : drop_absent(retention);
}

static int measure_disk(struct retention *retention)
{
	struct statvfs about;

	if (statvfs(retention->writer->path, &about) < 0)
		return error_set(retention->error, -errno, "%s", strerror(errno));
	retention->free_bytes = (uint64_t)about.f_bavail * about.f_frsize;
	/* the space that the file system reserves for root is never free for others */
	retention->disk_bytes =
		(uint64_t)(about.f_blocks - (about.f_bfree - about.f_bavail)) * about.f_frsize;
	return 0;
}

static int retention_collect(struct retention *retention)
{
	const char *path = retention->writer->path;
	struct store_segments *segments = &retention->segments;
	struct error *error = retention->error;
	uint64_t damaged;
	bool trusted = false;
	int r = collect_segments(retention, &trusted);

	if (r < 0)
		return r;
	r = store_other_bytes(path, &retention->bytes, &retention->taken_bytes, error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < segments->list.count; i++) {
		retention->bytes += segments->list.items[i].bytes;
		retention->taken_bytes += store_taken(segments->list.items[i].bytes);
	}
	r = store_each_name(path, STORE_SPOOLS, retention_see_spool_name, retention, error);
	if (r < 0)
		return r;
	r = segment_dir_place(NULL, segments, error);
	if (r < 0)
		return r;
	if (!trusted)
		r = pin_without_index(retention);
	if (r < 0)
		return r;
	r = notes_read(path, retention_see_note, &retention->plan, &damaged, error);
	if (r < 0)
		return r;
	if (segments->list.count)
		qsort(segments->list.items, segments->list.count, sizeof(*segments->list.items),
		      compare_ends);
	return measure_disk(retention);
}

static void retention_done(struct retention *retention)
{
	array_done(&retention->segments.list);
	segment_dir_names_done(&retention->names);
	array_done(&retention->plan.items);
	array_done(&retention->plan.pins);
}

static bool retention_is_whole(const struct store_segment *segment)
{
	return !segment->unsealed && !*segment->damage;
}

/*
 * Returns whether to keep the segment in any case: the last segment that this writer sealed, or
 * else the latest one. So the store always keeps its latest recording.
 */
static bool retention_is_kept(const struct retention *retention, size_t i)
{
	const char *last = retention->writer->sealed_last;

	if (*last)
		return strcmp(retention->segments.list.items[i].name, last) == 0;
	for (size_t later = i + 1; later < retention->segments.list.count; later++)
		if (retention_is_whole(&retention->segments.list.items[later]))
			return false;
	return retention_is_whole(&retention->segments.list.items[i]);
}

/* Returns the size down to which the store may shrink for free space in this hour. */
static uint64_t floor_bytes(struct store_writer *writer, const struct store_limits *limits,
			    uint64_t bytes)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (limits->space_at_once)
		return 0;
	if (!writer->floor_ns || now_ns - writer->floor_ns > FLOOR_NS) {
		writer->floor_ns = now_ns;
		writer->floor_bytes = bytes - bytes / FLOOR_PART;
	}
	return writer->floor_bytes;
}

/*
 * Returns the disk space that the next segment and its spool need. The estimate is the size of the
 * last segment, or of a segment that did not fit.
 */
static uint64_t room_bytes(const struct retention *retention)
{
	const struct store_segments *segments = &retention->segments;
	uint64_t bytes = retention->writer->unfit_bytes;

	if (segments->list.count)
		bytes = MAX(bytes, segments->list.items[segments->list.count - 1].bytes);
	return 2 * store_taken(bytes) + ROOM_BESIDE_BYTES;
}

static int retention_choose(struct retention *retention, const struct store_limits *limits)
{
	struct store_writer *writer = retention->writer;
	struct retention_plan *plan = &retention->plan;
	const struct retention_plan_figures figures = {
		.now_ns = clock_ns(CLOCK_REALTIME),
		.bytes = retention->bytes,
		.taken_bytes = retention->taken_bytes,
		.free_bytes = retention->free_bytes,
		.room_bytes = room_bytes(retention),
		.floor_bytes = floor_bytes(writer, limits, retention->bytes),
		.hold = writer->hold,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < retention->segments.list.count; i++) {
		const struct store_segment *segment = &retention->segments.list.items[i];

		r = array_push(&plan->items,
			       (struct retention_plan_item){
				       .begin_ns = segment->begin_ns,
				       .end_ns = segment->end_ns,
				       .length_ns = segment->perf_end_ns - segment->perf_begin_ns,
				       .bytes = segment->bytes,
				       .taken_bytes = store_taken(segment->bytes),
				       .keep = retention_is_kept(retention, i),
			       });
	}
	if (r < 0)
		return r;
	retention_plan_make(plan, limits, &figures);
	writer->hold = plan->hold;
	return 0;
}

/* Returns whether the index row of a segment agrees with its file. */
static bool row_is_right(const struct store_writer *writer, const struct store_segment *row)
{
	struct store_segment file;

	if (row->unsealed)
		return true;
	if (segment_dir_describe(writer->path, row->name, &file, NULL) < 0)
		return false;
	return *file.damage || file.end_ns == row->end_ns;
}

/*
 * Removes a row that disagrees with its file, so that a later run describes the file anew and can
 * remove it. Returns whether the row is right.
 */
static bool check_row(struct store_writer *writer, const struct store_segment *row)
{
	if (row_is_right(writer, row))
		return true;
	if (writer->index && !writer->dry)
		(void)index_remove(writer->index, row->name, NULL);
	writer->behind = true;
	return false;
}

static int remove_file(const struct store_writer *writer, const struct store_segment *segment,
		       struct error *error)
{
	char file[PATH_MAX];
	int r = store_file(segment->unsealed ? writer->spools : writer->segments, segment->name,
			   file, error);

	if (r < 0)
		return r;
	if (unlink(file) < 0 && errno != ENOENT)
		return error_set(error, -errno, "%s: %s", file, strerror(errno));
	return 0;
}

struct removal {
	bool dry;
	void (*removes)(void *context, const struct store_segment *segment, const char *why);
	void *context;
	/* The removed ranges, including those of segments that we are about to remove. */
	struct store_removed_ranges ranges;
	/* The note is on the disk. */
	bool noted;
	struct store_retained result;
};

/*
 * Notes the segments before their removal, so that they do not count as vanished. Ignores a failed
 * write, because the removals free disk space and remove_one() writes the note again.
 */
static int note_removals(struct retention *retention, struct removal *removal)
{
	const char *path = retention->writer->path;
	uint64_t damaged;
	bool any = false;
	int r = removed_ranges_read(path, &removal->ranges, &damaged, retention->error);

	for (size_t i = 0; r == 0 && i < retention->segments.list.count; i++) {
		const struct store_segment *segment = &retention->segments.list.items[i];
		struct store_removed_range one = { segment->begin_ns, segment->end_ns, false };

		if (!retention->plan.items.items[i].reason)
			continue;
		r = removed_ranges_add(&removal->ranges, &one);
		any = true;
	}
	removal->noted =
		!any || (r == 0 && removed_ranges_write(path, &removal->ranges, NULL) == 0);
	return r;
}

/*
 * Removes a file. If the note failed before, writes it again, because a full disk may have space
 * for it only now.
 */
static int remove_one(struct retention *retention, struct removal *removal,
		      const struct store_segment *segment, struct error *error)
{
	int r = remove_file(retention->writer, segment, error);

	if (r < 0)
		return r;
	if (!removal->noted)
		removal->noted =
			removed_ranges_write(retention->writer->path, &removal->ranges, NULL) == 0;
	return 0;
}

static bool retention_is_own(const struct store_writer *writer, const struct store_segment *segment)
{
	return !segment->unsealed && segment->sequence >= writer->first_sequence &&
	       strcmp(segment->boot_id, writer->boot_id) == 0;
}

/* Widens the range by the segment. An unreadable segment may lack times. */
static void retention_widen(const struct store_segment *segment, uint64_t *from_ns, uint64_t *to_ns)
{
	if (segment->begin_ns && (!*from_ns || segment->begin_ns < *from_ns))
		*from_ns = segment->begin_ns;
	*to_ns = MAX(*to_ns, segment->end_ns);
}

static void retention_count(const struct store_writer *writer, const struct store_segment *segment,
			    const struct retention_plan_item *item, bool gone,
			    struct store_retained *result)
{
	uint64_t bytes = gone ? segment->bytes : 0;

	result->removed += gone;
	result->removed_bytes += bytes;
	if (gone)
		retention_widen(segment, &result->from_ns, &result->to_ns);
	if (retention_is_own(writer, segment)) {
		result->own += gone;
		result->own_bytes += bytes;
	}
	if (item->reason == RETENTION_PLAN_SPACE) {
		result->for_space += gone;
		result->for_space_bytes += bytes;
	}
	result->segments += !gone;
	result->spared += !gone && item->spared;
	result->pinned += !gone && item->pinned && item->overdue;
}

/* Removes the chosen segments. An error does not stop the rest. Returns the first error. */
static int retention_carry_out(struct retention *retention, struct removal *removal)
{
	_cleanup_(store_segments_done) struct store_segments removed = { 0 };
	int r = removal->dry ? 0 : note_removals(retention, removal);

	for (size_t i = 0; i < retention->segments.list.count; i++) {
		const struct store_segment *segment = &retention->segments.list.items[i];
		const struct retention_plan_item *item = &retention->plan.items.items[i];
		bool gone = item->reason && check_row(retention->writer, segment);

		if (gone && removal->removes)
			removal->removes(removal->context, segment,
					 retention_plan_reason_text(item->reason));
		if (gone && !removal->dry) {
			int removing = remove_one(retention, removal, segment,
						  r == 0 ? retention->error : NULL);

			gone = removing == 0;
			r = r ? r : removing;
			if (gone && array_push(&removed.list, *segment) < 0)
				retention->writer->behind = true;
		}
		retention_count(retention->writer, segment, item, gone, &removal->result);
	}
	if (removed.list.count)
		writer_forget_rows(retention->writer, &removed);
	array_done(&removal->ranges.list);
	return r;
}

static int retention_run(struct retention *retention, const struct store_limits *limits,
			 struct removal *removal)
{
	int r = removal->dry ? 0 : writer_check(retention->writer, retention->error);

	if (r < 0)
		return r;
	r = retention_collect(retention);
	if (r < 0)
		return r;
	r = retention_choose(retention, limits);
	return r < 0 ? r : retention_carry_out(retention, removal);
}

int store_writer_retain(struct store_writer *writer, const struct store_limits *limits, bool dry,
			void (*removes)(void *context, const struct store_segment *segment,
					const char *why),
			void *context, struct store_retained *ret_retained, struct error *error)
{
	_cleanup_(retention_done) struct retention retention = { .writer = writer, .error = error };
	struct removal removal = { .dry = dry || writer->dry,
				   .removes = removes,
				   .context = context };
	int r = retention_run(&retention, limits, &removal);

	if (r < 0)
		return error_prefix(error, r, "%s", writer->path);
	removal.result.bytes = retention.bytes - removal.result.removed_bytes;
	removal.result.free_bytes = retention.free_bytes;
	removal.result.disk_bytes = retention.disk_bytes;
	removal.result.starved = retention.plan.starved;
	*ret_retained = removal.result;
	return 0;
}

static void change_count(const struct store_segment *segment, const struct retention_plan_item *old,
			 const struct retention_plan_item *new, struct store_limits_change *change)
{
	change->segments++;
	change->segment_bytes += segment->bytes;
	if (old->reason || !new->reason)
		return;
	change->removed++;
	change->removed_bytes += segment->bytes;
	change->pinned += old->pinned;
	retention_widen(segment, &change->from_ns, &change->to_ns);
}

int store_writer_compare_limits(struct store_writer *writer, const struct store_limits *old,
				const struct store_limits *limits,
				struct store_limits_change *ret_change, struct error *error)
{
	_cleanup_(retention_done) struct retention retention = { .writer = writer, .error = error };
	const struct retention_plan_hold hold = writer->hold;
	struct store_limits_change change = { 0 };
	struct retention_plan before = { 0 };
	int r = retention_collect(&retention);

	if (r == 0)
		r = retention_choose(&retention, old);
	before.items = retention.plan.items;
	memset(&retention.plan.items, 0, sizeof(retention.plan.items));
	writer->hold = hold;
	if (r == 0)
		r = retention_choose(&retention, limits);
	writer->hold = hold;
	for (size_t i = 0; r == 0 && i < retention.segments.list.count; i++)
		change_count(&retention.segments.list.items[i], &before.items.items[i],
			     &retention.plan.items.items[i], &change);
	array_done(&before.items);
	if (r < 0)
		return error_prefix(error, r, "%s", writer->path);
	*ret_change = change;
	return 0;
}

static const char smaller_remedy[] = "the store does not grow any more; give a smaller --keep-free";
static const char space_remedy[] =
	"the store does not grow any more; free some space, or give a smaller --keep-free";

bool store_space_describe(const struct store_limits *limits, const struct store_retained *retained,
			  struct error *ret_text)
{
	char left[32], wanted[32], taken[32], removed[32], disk[32];
	struct error done = { 0 };

	if (!retained->starved && !retained->for_space)
		return false;
	size_format(retained->free_bytes, left, sizeof(left));
	size_format(limits->keep_free_bytes, wanted, sizeof(wanted));
	size_format(retained->bytes + retained->removed_bytes, taken, sizeof(taken));
	size_format(retained->for_space_bytes, removed, sizeof(removed));
	size_format(retained->disk_bytes, disk, sizeof(disk));
	if (!retained->starved)
		error_set(&done, 0, "removed the oldest %llu segment%s (%s)",
			  (unsigned long long)retained->for_space, plural(retained->for_space),
			  removed);
	else if (limits->keep_free_bytes >= retained->disk_bytes)
		error_set(&done, 0, "the disk has only %s in all; %s", disk, smaller_remedy);
	else
		error_set(&done, 0, "others use too much of the rest; %s", space_remedy);
	error_set(ret_text, 0, "%s of the disk are free, but %s should be; the store uses %s; %s",
		  left, wanted, taken, done.text);
	return true;
}
