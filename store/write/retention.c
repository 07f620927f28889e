// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/size.h"
#include "store/write/retention-plan.h"
#include "store/disk/files.h"
#include "store/disk/segment-dir.h"
#include "store/disk/removed-ranges.h"
#include "store/disk/notes.h"
#include "store/disk/store-size.h"
#include "store/write/writer.h"

/* For free space the store gives so much of itself in so long, and no more: see struct
 * store_limits. */
#define FLOOR_PART 8
#define FLOOR_NS (3600 * NSEC_PER_SEC)

/* What is written beside a segment and its spool, into the index and the notes. */
#define ROOM_BESIDE_BYTES (32u << 10)

struct retaining {
	struct store_writer *writer;
	struct store_segments segments;
	struct segment_dir_names names;
	struct retention_plan choice;
	/* of all that is in the store */
	uint64_t bytes;
	/* of the disk */
	uint64_t taken_bytes;
	uint64_t free_bytes, disk_bytes;
	struct error *error;
};

/* Incidents mostly come in bursts and in order: one pin for those that lie near each other. */
static int add_incident_pin(struct retention_plan *choice, uint64_t from_ns, uint64_t to_ns)
{
	struct retention_plan_pin pin = {
		.from_ns = from_ns - MIN(from_ns, STORE_PIN_AROUND_NS),
		.to_ns = to_ns + MIN(UINT64_MAX - to_ns, STORE_PIN_AROUND_NS),
		.until_ns = UINT64_MAX,
	};
	struct retention_plan_pin *last =
		choice->pins.count ? &choice->pins.items[choice->pins.count - 1] : NULL;

	if (!last || last->until_ns != UINT64_MAX || pin.from_ns > last->to_ns ||
	    pin.to_ns < last->from_ns)
		return array_push(&choice->pins, pin);
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
	struct retention_plan *choice = context;
	uint64_t stall_ns = note_u64(note, "stall_ns", note->realtime_ns);

	if (note->kind == NOTES_INCIDENT)
		return add_incident_pin(choice, MIN(stall_ns, note->realtime_ns),
					MAX(stall_ns, note->realtime_ns));
	if (note->kind != NOTES_PIN)
		return 0;
	return array_push(&choice->pins,
			  (struct retention_plan_pin){
				  .from_ns = note_u64(note, "from_ns", 0),
				  .to_ns = note_u64(note, "to_ns", 0),
				  .until_ns = MIN(note_u64(note, "until_ns", 0), UINT64_MAX - 1),
			  });
}

static int retention_see_row(void *context, const struct store_segment *segment)
{
	struct retaining *retaining = context;

	if (segment_dir_know(&retaining->names, segment->name) < 0)
		return -ENOMEM;
	return array_push(&retaining->segments.list, *segment);
}

/* A spool that was set aside takes room as a segment does that cannot be read. */
static int retention_see_spool_name(void *context, const char *name)
{
	struct retaining *retaining = context;
	struct store_segment segment = { .unsealed = true };
	char path[PATH_MAX];
	struct stat about;

	if (!store_name_ends(name, STORE_DAMAGED_SUFFIX) ||
	    store_file(retaining->writer->spools, name, path, NULL) < 0 || lstat(path, &about) < 0)
		return 0;
	snprintf(segment.name, sizeof(segment.name), "%.63s", name);
	snprintf(segment.damage, sizeof(segment.damage), "a spool that cannot be read");
	segment.bytes = about.st_size;
	segment.end_ns = about.st_mtim.tv_sec * NSEC_PER_SEC + about.st_mtim.tv_nsec;
	return array_push(&retaining->segments.list, segment);
}

/* Of an index that says nothing to be believed, what the segments say themselves is near enough. */
static int pin_without_index(struct retaining *retaining)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < retaining->segments.list.count; i++) {
		const struct store_segment *segment = &retaining->segments.list.items[i];

		if (segment->incidents)
			r = add_incident_pin(&retaining->choice, segment->begin_ns,
					     segment->end_ns);
	}
	return r;
}

/* What a dry writer finds in the index is as good as it is. */
static int refresh_index(struct store_writer *writer, struct error *error)
{
	if (writer->dry)
		return writer->index ? 0 : -ENOENT;
	return writer_is_behind(writer) ? writer_reconcile(writer, error) : 0;
}

static int collect_index(struct retaining *retaining)
{
	struct store_writer *writer = retaining->writer;
	struct error *error = retaining->error;
	int r = refresh_index(writer, error);

	if (r == 0)
		r = index_segments(writer->index, retention_see_row, retaining, error);
	if (r == 0)
		r = index_incidents(writer->index, retention_see_incident, &retaining->choice,
				    error);
	writer->behind = r < 0;
	return r;
}

static int compare_ends(const void *a, const void *b)
{
	const struct store_segment *left = a, *right = b;

	if (left->end_ns != right->end_ns)
		return left->end_ns < right->end_ns ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* A row whose file is gone takes no room. */
static int drop_absent(struct retaining *retaining)
{
	struct store_segments *segments = &retaining->segments;
	size_t kept = 0;

	for (size_t i = 0; i < segments->list.count; i++) {
		int r = segment_dir_has(&retaining->names, segments->list.items[i].name);

		if (r < 0)
			return r;
		if (r)
			segments->list.items[kept++] = segments->list.items[i];
	}
	segments->list.count = kept;
	return 0;
}

static int collect_segments(struct retaining *retaining, bool *ret_trusted)
{
	const char *path = retaining->writer->path;
	int r = collect_index(retaining);

	*ret_trusted = r == 0;
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		segment_dir_names_done(&retaining->names);
		retaining->names = (struct segment_dir_names){ 0 };
		retaining->segments.list.count = 0;
	}
	r = segment_dir_unknown(path, &retaining->names, &retaining->segments, retaining->error);
	return r < 0 ? r : drop_absent(retaining);
}

static int retention_collect(struct retaining *retaining)
{
	const char *path = retaining->writer->path;
	struct store_segments *segments = &retaining->segments;
	struct error *error = retaining->error;
	uint64_t damaged;
	bool trusted = false;
	int r = collect_segments(retaining, &trusted);

	if (r == 0)
		r = store_other_bytes(path, &retaining->bytes, &retaining->taken_bytes, error);
	for (size_t i = 0; i < segments->list.count; i++) {
		retaining->bytes += segments->list.items[i].bytes;
		retaining->taken_bytes += store_taken(segments->list.items[i].bytes);
	}
	if (r == 0)
		r = store_each_name(path, STORE_SPOOLS, retention_see_spool_name, retaining, error);
	if (r == 0)
		r = segment_dir_place(NULL, segments, error);
	if (r == 0 && !trusted)
		r = pin_without_index(retaining);
	if (r == 0)
		r = notes_read(path, retention_see_note, &retaining->choice, &damaged, error);
	if (segments->list.count)
		qsort(segments->list.items, segments->list.count, sizeof(*segments->list.items),
		      compare_ends);
	return r;
}

static int measure_disk(struct retaining *retaining)
{
	struct statvfs about;

	if (statvfs(retaining->writer->path, &about) < 0)
		return error_set(retaining->error, -errno, "%s", strerror(errno));
	retaining->free_bytes = (uint64_t)about.f_bavail * about.f_frsize;
	/* what is kept for root is never free for others */
	retaining->disk_bytes =
		(uint64_t)(about.f_blocks - (about.f_bfree - about.f_bavail)) * about.f_frsize;
	return 0;
}

static bool retention_is_whole(const struct store_segment *segment)
{
	return !segment->unsealed && !*segment->damage;
}

/* The segment that was sealed last stays, or, if none was, the latest: whoever is asked for the
 * night has something to show. */
static bool retention_is_kept(const struct retaining *retaining, size_t i)
{
	const char *last = retaining->writer->sealed_last;

	if (*last)
		return strcmp(retaining->segments.list.items[i].name, last) == 0;
	for (size_t later = i + 1; later < retaining->segments.list.count; later++)
		if (retention_is_whole(&retaining->segments.list.items[later]))
			return false;
	return retention_is_whole(&retaining->segments.list.items[i]);
}

/* Down to what the store may go for free space in this hour. */
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

/* The next segment, and before that its spool: as large as the last one, or as one that did not
 * fit. */
static uint64_t room_bytes(const struct retaining *retaining)
{
	const struct store_segments *segments = &retaining->segments;
	uint64_t bytes = retaining->writer->unfit_bytes;

	if (segments->list.count)
		bytes = MAX(bytes, segments->list.items[segments->list.count - 1].bytes);
	return 2 * store_taken(bytes) + ROOM_BESIDE_BYTES;
}

static int retention_choose(struct retaining *retaining, const struct store_limits *limits)
{
	struct store_writer *writer = retaining->writer;
	struct retention_plan *choice = &retaining->choice;
	const struct retention_plan_figures figures = {
		.now_ns = clock_ns(CLOCK_REALTIME),
		.bytes = retaining->bytes,
		.taken_bytes = retaining->taken_bytes,
		.free_bytes = retaining->free_bytes,
		.room_bytes = room_bytes(retaining),
		.floor_bytes = floor_bytes(writer, limits, retaining->bytes),
		.hold = writer->hold,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < retaining->segments.list.count; i++) {
		const struct store_segment *segment = &retaining->segments.list.items[i];

		r = array_push(&choice->items,
			       (struct retention_plan_item){
				       .begin_ns = segment->begin_ns,
				       .end_ns = segment->end_ns,
				       .length_ns = segment->perf_end_ns - segment->perf_begin_ns,
				       .bytes = segment->bytes,
				       .taken_bytes = store_taken(segment->bytes),
				       .keep = retention_is_kept(retaining, i),
			       });
	}
	if (r < 0)
		return r;
	retention_plan_make(choice, limits, &figures);
	writer->hold = choice->hold;
	return 0;
}

/* A row that says something else than its file was never right: without it the file is described
 * anew, and then has its turn. */
static bool is_as_known(struct retaining *retaining, const struct store_segment *segment)
{
	struct store_writer *writer = retaining->writer;
	struct store_segment file;
	int r;

	if (segment->unsealed)
		return true;
	r = segment_dir_describe(retaining->writer->path, segment->name, &file, NULL);
	if (r < 0 || (!*file.damage && file.end_ns != segment->end_ns)) {
		if (writer->index && !writer->dry)
			(void)index_remove(writer->index, segment->name, NULL);
		writer->behind = true;
		return false;
	}
	return true;
}

static int remove_file(const struct store_writer *writer, const struct store_segment *segment,
		       struct error *error)
{
	char file[PATH_MAX];
	int r = store_file(segment->unsealed ? writer->spools : writer->segments, segment->name,
			   file, error);

	if (r == 0 && unlink(file) < 0 && errno != ENOENT)
		r = error_set(error, -errno, "%s: %s", file, strerror(errno));
	return r;
}

struct removal {
	bool dry;
	void (*removes)(void *context, const struct store_segment *segment, const char *why);
	void *context;
	/* with what is to be removed */
	struct store_gone_list gone;
	/* on the disk */
	bool noted;
	struct store_retained result;
};

/* What goes is written down before, so that nobody takes it for lost. What is in the way of that is
 * told once the disk has room. */
static int note_removals(struct retaining *retaining, struct removal *removal)
{
	const char *path = retaining->writer->path;
	uint64_t damaged;
	bool any = false;
	int r = removed_ranges_read(path, &removal->gone, &damaged, retaining->error);

	for (size_t i = 0; r == 0 && i < retaining->segments.list.count; i++) {
		const struct store_segment *segment = &retaining->segments.list.items[i];
		struct store_gone one = { segment->begin_ns, segment->end_ns, false };

		if (!retaining->choice.items.items[i].why)
			continue;
		r = removed_ranges_add(&removal->gone, &one);
		any = true;
	}
	removal->noted = !any || (r == 0 && removed_ranges_write(path, &removal->gone, NULL) == 0);
	return r;
}

/* On a full disk there may be room for the note when something is gone. */
static int remove_one(struct retaining *retaining, struct removal *removal,
		      const struct store_segment *segment, struct error *error)
{
	int r = remove_file(retaining->writer, segment, error);

	if (r == 0 && !removal->noted)
		removal->noted =
			removed_ranges_write(retaining->writer->path, &removal->gone, NULL) == 0;
	return r;
}

static bool retention_is_own(const struct store_writer *writer, const struct store_segment *segment)
{
	return !segment->unsealed && segment->sequence >= writer->first_sequence &&
	       strcmp(segment->boot_id, writer->boot_id) == 0;
}

static void retention_count(const struct store_writer *writer, const struct store_segment *segment,
			    const struct retention_plan_item *item, bool gone,
			    struct store_retained *result)
{
	uint64_t bytes = gone ? segment->bytes : 0;

	result->removed += gone;
	result->removed_bytes += bytes;
	if (retention_is_own(writer, segment)) {
		result->own += gone;
		result->own_bytes += bytes;
	}
	if (item->for_space) {
		result->for_space += gone;
		result->for_space_bytes += bytes;
	}
	result->segments += !gone;
	result->spared += !gone && item->spared;
	result->pinned += !gone && item->pinned && item->overdue;
}

/* What cannot be removed does not keep the others: the first error is handed on. */
static int retention_carry_out(struct retaining *retaining, struct removal *removal)
{
	struct store_segments removed = { 0 };
	int r = removal->dry ? 0 : note_removals(retaining, removal);

	for (size_t i = 0; i < retaining->segments.list.count; i++) {
		const struct store_segment *segment = &retaining->segments.list.items[i];
		const struct retention_plan_item *item = &retaining->choice.items.items[i];
		bool gone = item->why && is_as_known(retaining, segment);

		if (gone && removal->removes)
			removal->removes(removal->context, segment, item->why);
		if (gone && !removal->dry) {
			int removing = remove_one(retaining, removal, segment,
						  r == 0 ? retaining->error : NULL);

			gone = removing == 0;
			r = r ? r : removing;
			if (gone && array_push(&removed.list, *segment) < 0)
				retaining->writer->behind = true;
		}
		retention_count(retaining->writer, segment, item, gone, &removal->result);
	}
	if (removed.list.count)
		writer_forget_rows(retaining->writer, &removed);
	array_done(&removed.list);
	array_done(&removal->gone.list);
	return r;
}

int store_writer_retain(struct store_writer *writer, const struct store_limits *limits, bool dry,
			void (*removes)(void *context, const struct store_segment *segment,
					const char *why),
			void *context, struct store_retained *ret_retained, struct error *error)
{
	struct retaining retaining = { .writer = writer, .error = error };
	struct removal removal = { .dry = dry || writer->dry,
				   .removes = removes,
				   .context = context };
	int r = removal.dry ? 0 : writer_check(writer, error);

	if (r == 0)
		r = retention_collect(&retaining);
	if (r == 0)
		r = measure_disk(&retaining);
	if (r == 0)
		r = retention_choose(&retaining, limits);
	if (r == 0)
		r = retention_carry_out(&retaining, &removal);
	removal.result.bytes = retaining.bytes - removal.result.removed_bytes;
	removal.result.free_bytes = retaining.free_bytes;
	removal.result.disk_bytes = retaining.disk_bytes;
	removal.result.starved = retaining.choice.starved;
	array_done(&retaining.segments.list);
	segment_dir_names_done(&retaining.names);
	array_done(&retaining.choice.items);
	array_done(&retaining.choice.pins);
	if (r < 0)
		return error_prefix(error, r, "%s", writer->path);
	*ret_retained = removal.result;
	return 0;
}

bool store_space_describe(const struct store_limits *limits, const struct store_retained *retained,
			  struct error *ret_text)
{
	char left[32], wanted[32], taken[32], removed[32], disk[32];

	if (!retained->starved && !retained->for_space)
		return false;
	size_format(retained->free_bytes, left, sizeof(left));
	size_format(limits->keep_free_bytes, wanted, sizeof(wanted));
	size_format(retained->bytes + retained->removed_bytes, taken, sizeof(taken));
	size_format(retained->for_space_bytes, removed, sizeof(removed));
	size_format(retained->disk_bytes, disk, sizeof(disk));
	if (retained->starved && limits->keep_free_bytes >= retained->disk_bytes)
		error_set(
			ret_text, 0,
			"%s of the disk should be free, and it holds no more than %s: that cannot be had, so the store is kept from growing instead; give a smaller --keep-free",
			wanted, disk);
	else if (retained->starved)
		error_set(
			ret_text, 0,
			"%s of the disk are free, and %s should be; the store takes %s of it, others the rest: removing what was recorded would not help, so the store is kept from growing instead; make room, or give a smaller --keep-free",
			left, wanted, taken);
	else
		error_set(
			ret_text, 0,
			"%s of the disk are free, and %s should be; the store takes %s of it, others the rest: the oldest %llu segment%s, %s, had to go for that",
			left, wanted, taken, (unsigned long long)retained->for_space,
			retained->for_space == 1 ? "" : "s", removed);
	return true;
}
