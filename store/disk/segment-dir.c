// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/segment-dir.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/disk/files.h"
#include "store/disk/removed-ranges.h"

/*
 * The assumed length of an unreadable segment, if only one neighbour limits its time. The recorder
 * seals after at most an hour.
 */
#define LENGTH_MAX_NS (3600 * NSEC_PER_SEC)

bool segment_dir_is_segment(const char *name)
{
	return store_name_ends(name, STORE_SUFFIX);
}

static int describe_fd(int fd, const char *name, struct store_segment *ret_segment,
		       struct error *why)
{
	struct segment_summary summary = { 0 };
	uint8_t head[SEGMENT_HEAD];
	struct stat about;
	ssize_t size;
	int r;

	if (fstat(fd, &about) < 0)
		return error_set(why, -errno, "%s", strerror(errno));
	ret_segment->bytes = about.st_size;
	ret_segment->end_ns = about.st_mtim.tv_sec * NSEC_PER_SEC + about.st_mtim.tv_nsec;
	size = pread(fd, head, sizeof(head), 0);
	if (size < 0)
		return error_set(why, -errno, "%s", strerror(errno));
	r = segment_peek(head, size, about.st_size, &summary, why);
	if (r >= 0)
		store_describe(&summary, name, about.st_size, ret_segment);
	return r;
}

int segment_dir_describe(const char *path, const char *name, struct store_segment *ret_segment,
			 struct error *error)
{
	struct store_segment segment = { 0 };
	_cleanup_close_ int fd = -1;
	struct error why = { 0 };
	int r = store_open_file(path, STORE_SEGMENTS, name, &fd, error);

	snprintf(segment.name, sizeof(segment.name), "%s", name);
	if (r == -ENAMETOOLONG || r == -ENOENT || error_is_exhaustion(r))
		return r;
	if (r < 0)
		error_set(&why, r, "%s", r == -EBADMSG ? "not a file" : strerror(-r));
	else
		r = describe_fd(fd, name, &segment, &why);
	if (error_is_exhaustion(r))
		return error_set(error, r, "%s: %s", name, strerror(-r));
	if (r != 0)
		snprintf(segment.damage, sizeof(segment.damage), "%.*s",
			 (int)sizeof(segment.damage) - 1, why.text);
	*ret_segment = segment;
	return 0;
}

static bool has_times(const struct store_segment *segment)
{
	return segment->begin_ns || !*segment->damage;
}

/*
 * Finds the segments of the same boot with the next lower and the next higher number. Sets NULL if
 * the boot does not have one.
 */
static void find_neighbours(const struct store_segment *lost, const struct store_segments *all,
			    const struct store_segment **ret_before,
			    const struct store_segment **ret_after)
{
	struct store_identity ours, other;
	uint64_t before = 0, after = UINT64_MAX;

	*ret_before = *ret_after = NULL;
	if (!store_identify(lost->name, &ours))
		return;
	for (size_t i = 0; i < all->list.count; i++) {
		const struct store_segment *segment = &all->list.items[i];

		if (!has_times(segment) || !store_identify(segment->name, &other) ||
		    other.boot_size != ours.boot_size ||
		    memcmp(segment->name, lost->name, ours.boot_size) != 0)
			continue;
		if (other.sequence < ours.sequence && other.sequence >= before) {
			before = other.sequence;
			*ret_before = segment;
		} else if (other.sequence > ours.sequence && other.sequence <= after) {
			after = other.sequence;
			*ret_after = segment;
		}
	}
}

/*
 * Gives times to an unreadable segment. The last change of its file is at the segment's end, or
 * later if the file is a copy.
 */
static void segment_dir_place_one(struct store_segment *lost, const struct store_segments *all)
{
	const struct store_segment *before, *after;
	uint64_t changed_ns = lost->end_ns;

	find_neighbours(lost, all, &before, &after);
	lost->end_ns = after	? after->begin_ns
		       : before ? MIN(changed_ns, before->end_ns + LENGTH_MAX_NS)
				: changed_ns;
	lost->begin_ns = before ? before->end_ns : lost->end_ns - MIN(lost->end_ns, LENGTH_MAX_NS);
	/* the neighbours touch, or the clock was set back, so any time near them is good enough */
	if (lost->end_ns <= lost->begin_ns)
		lost->end_ns = lost->begin_ns + 1;
}

static int push_segment(void *context, const struct store_segment *segment)
{
	struct store_segments *segments = context;

	return array_push(&segments->list, *segment);
}

int segment_dir_place(struct index *index, struct store_segments *segments, struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments all = { 0 };
	size_t lost = 0;
	int r = 0;

	for (size_t i = 0; i < segments->list.count; i++)
		lost += !has_times(&segments->list.items[i]);
	if (!lost)
		return 0;
	if (index)
		r = index_segments(index, push_segment, &all, error);
	for (size_t i = 0; r == 0 && i < segments->list.count; i++)
		if (has_times(&segments->list.items[i]))
			r = array_push(&all.list, segments->list.items[i]);
	for (size_t i = 0; r == 0 && i < segments->list.count; i++)
		if (!has_times(&segments->list.items[i]))
			segment_dir_place_one(&segments->list.items[i], &all);
	return r;
}

void segment_dir_names_done(struct segment_dir_names *names)
{
	strings_done(&names->known);
	array_done(&names->present);
}

int segment_dir_names_add(struct segment_dir_names *names, const char *name)
{
	uint32_t id;

	return strings_add(&names->known, name, strlen(name), &id) < 0 ? -ENOMEM : 0;
}

/* Returns 1 if the name is new to `names`. */
static int mark_present(struct segment_dir_names *names, const char *name)
{
	uint32_t before = strings_count(&names->known), id;

	if (strings_add(&names->known, name, strlen(name), &id) < 0 ||
	    array_reserve(&names->present, id + 1) < 0)
		return -ENOMEM;
	while (names->present.count <= id)
		names->present.items[names->present.count++] = false;
	names->present.items[id] = true;
	return id == before;
}

struct unknown {
	const char *path;
	struct segment_dir_names *names;
	struct store_segments *segments;
	struct error *error;
};

static int see_unknown(void *context, const char *name)
{
	const struct unknown *unknown = context;
	struct store_segment segment;
	int r;

	if (!segment_dir_is_segment(name))
		return 0;
	r = mark_present(unknown->names, name);
	if (r <= 0)
		return r;
	r = segment_dir_describe(unknown->path, name, &segment, unknown->error);
	if (r < 0)
		/* retention removed the file meanwhile */
		return r == -ENOENT ? 0 : r;
	return array_push(&unknown->segments->list, segment);
}

int segment_dir_find_unknown(const char *path, struct segment_dir_names *names,
			     struct store_segments *segments, struct error *error)
{
	struct unknown unknown = { path, names, segments, error };

	return store_each_name(path, STORE_SEGMENTS, see_unknown, &unknown, error);
}

int segment_dir_names_has(struct segment_dir_names *names, const char *name)
{
	uint32_t id;

	if (strings_add(&names->known, name, strlen(name), &id) < 0)
		return -ENOMEM;
	return id < names->present.count && names->present.items[id];
}

/*
 * Returns 1 if the file is gone, 0 if not, or -ENOMEM. Checks the file itself, because a listing of
 * the folder may miss a file that a resealer replaces meanwhile.
 */
static int segment_dir_is_gone(const char *path, struct segment_dir_names *names, const char *name)
{
	char folder[PATH_MAX], file[PATH_MAX];
	struct stat about;
	int r = segment_dir_names_has(names, name);

	if (r)
		return MIN(r, 0);
	return store_file(path, STORE_SEGMENTS, folder, NULL) == 0 &&
	       store_file(folder, name, file, NULL) == 0 && lstat(file, &about) < 0 &&
	       errno == ENOENT;
}

/*
 * Drops the segments that retention removed. Retention notes a segment before it removes the file.
 */
static int drop_removed(const char *path, struct store_segments *segments)
{
	struct store_removed_ranges ranges = { 0 };
	uint64_t damaged;
	size_t kept = 0;
	int r = removed_ranges_read(path, &ranges, &damaged, NULL);

	for (size_t i = 0; r != -ENOMEM && i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];

		if (!segment->vanished ||
		    !removed_ranges_has(&ranges, false, segment->begin_ns, segment->end_ns))
			segments->list.items[kept++] = *segment;
	}
	segments->list.count = kept;
	array_done(&ranges.list);
	return r == -ENOMEM ? r : 0;
}

int segment_dir_check_rows(const char *path, struct segment_dir_names *names,
			   struct store_segments *segments, struct error *error)
{
	bool any = false;

	for (size_t i = 0; i < segments->list.count; i++) {
		struct store_segment *segment = &segments->list.items[i];
		int r = segment->unsealed ? 0 : segment_dir_is_gone(path, names, segment->name);

		if (r < 0)
			return r;
		if (!r)
			continue;
		segment->vanished = any = true;
		segment->bytes = segment->samples = segment->lost = 0;
		snprintf(segment->damage, sizeof(segment->damage), "its file vanished");
	}
	return any ? drop_removed(path, segments) : 0;
}

/* Opens a segment's file and finds its bytes in it. The caller closes *ret_fd. */
static int open_input(const char *path, const struct store_segment *segment,
		      struct segment_input *ret_input, int *ret_fd, struct error *error)
{
	_cleanup_close_ int fd = -1;
	struct stat about;
	int r = store_open_file(path, STORE_SEGMENTS, segment->name, &fd, error);

	if (r < 0)
		return r;
	if (fstat(fd, &about) < 0)
		return error_set(error, -errno, "%s: %s", segment->name, strerror(errno));
	if (about.st_size > STORE_SEGMENT_MAX)
		return error_set(error, -EBADMSG, "%s: too large for a segment", segment->name);
	*ret_input = segment_input_file(fd, 0, about.st_size);
	*ret_fd = take_fd(fd);
	return 0;
}

int segment_dir_load(const char *path, const struct store_segment *segment,
		     const struct segment_want *want, struct tape **ret_tape, struct error *error)
{
	struct segment_input input;
	_cleanup_close_ int fd = -1;
	int r = open_input(path, segment, &input, &fd, error);

	if (r < 0)
		return r;
	r = segment_decode(&input, want, ret_tape, error);
	return r < 0 ? error_prefix(error, r, "%s", segment->name) : 0;
}

uint64_t segment_dir_memory(const char *path, const struct store_segment *segment)
{
	struct segment_input input;
	_cleanup_close_ int fd = -1;

	return open_input(path, segment, &input, &fd, NULL) < 0 ? 0 : segment_memory(&input);
}

int segment_dir_busy(const char *path, const struct store_segment *segment, struct buffer *bytes,
		     struct error *error)
{
	struct segment_input input;
	_cleanup_close_ int fd = -1;
	int r = open_input(path, segment, &input, &fd, error);

	if (r < 0)
		return r;
	r = segment_busy(&input, bytes, error);
	return r < 0 ? error_prefix(error, r, "%s", segment->name) : r;
}

int segment_dir_outline(const char *path, const struct store_segment *segment, struct buffer *bytes,
			struct error *error)
{
	struct segment_input input;
	_cleanup_close_ int fd = -1;
	int r = open_input(path, segment, &input, &fd, error);

	if (r < 0)
		return r;
	r = segment_outline(&input, bytes, error);
	return r < 0 ? error_prefix(error, r, "%s", segment->name) : r;
}

int segment_dir_input_bytes(const struct segment_input *input, struct index_bytes *bytes,
			    struct error *error)
{
	struct buffer *outline = &bytes->of[INDEX_OUTLINES];
	int r = segment_busy(input, &bytes->of[INDEX_BUSY], error);

	if (r < 0)
		return r;
	r = segment_outline(input, outline, error);
	if (error_is_exhaustion(r))
		return r;
	/* the index can do without an outline, and a bad one must not keep the segment out of it */
	if (r < 0)
		outline->size = 0;
	return 0;
}

int segment_dir_bytes(const char *path, const struct store_segment *segment,
		      struct index_bytes *bytes, struct error *error)
{
	struct segment_input input;
	_cleanup_close_ int fd = -1;
	int r = open_input(path, segment, &input, &fd, error);

	if (r < 0)
		return r;
	r = segment_dir_input_bytes(&input, bytes, error);
	return r < 0 ? error_prefix(error, r, "%s", segment->name) : 0;
}

int segment_dir_incidents(const char *path, const struct store_segment *segment,
			  struct incident_rows *incidents, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_CONTEXT, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = segment_dir_load(path, segment, &want, &tape, error);

	return r < 0 ? r : incident_rows_add_tape(incidents, tape, segment->name);
}

static int compare_segments(const void *a, const void *b)
{
	const struct store_segment *left = a, *right = b;
	int boots;

	if (left->begin_ns != right->begin_ns)
		return left->begin_ns < right->begin_ns ? -1 : 1;
	boots = strcmp(left->boot_id, right->boot_id);
	if (boots)
		return boots;
	if (left->sequence != right->sequence)
		return left->sequence < right->sequence ? -1 : 1;
	return strcmp(left->name, right->name);
}

void segment_dir_sort(struct store_segments *segments)
{
	if (segments->list.count)
		qsort(segments->list.items, segments->list.count, sizeof(*segments->list.items),
		      compare_segments);
}
