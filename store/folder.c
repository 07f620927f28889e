// SPDX-License-Identifier: GPL-2.0-only
#include "store/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/files.h"
#include "tape/segment.h"

/* How long a segment is taken to be that cannot be read and has no neighbour on one side: the recorder cuts them at an hour. */
#define LENGTH_MAX_NS (3600 * NSEC_PER_SEC)

bool folder_is_segment(const char *name)
{
	size_t size = strlen(name), suffix = strlen(STORE_SUFFIX);

	return name[0] != '.' && size > suffix &&
	       size < sizeof(((struct store_segment *)0)->name) &&
	       strcmp(name + size - suffix, STORE_SUFFIX) == 0;
}

/* These say that the process is at its end, not what the file is like. */
static bool is_ours(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

static int describe_fd(
	int fd, const char *name, struct store_segment *ret_segment, struct error *why)
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

int folder_describe(
	const char *path, const char *name, struct store_segment *ret_segment, struct error *error)
{
	struct store_segment segment = { 0 };
	_cleanup_close_ int fd = -1;
	struct error why = { 0 };
	int r = store_open_segment(path, name, &fd, error);

	snprintf(segment.name, sizeof(segment.name), "%s", name);
	if (r == -ENAMETOOLONG || r == -ENOENT || is_ours(r))
		return r;
	if (r < 0)
		error_set(&why, r, "%s", r == -EBADMSG ? "not a file" : strerror(-r));
	else
		r = describe_fd(fd, name, &segment, &why);
	if (is_ours(r))
		return error_set(error, r, "%s: %s", name, strerror(-r));
	if (r != 0)
		snprintf(segment.damage, sizeof(segment.damage), "%.*s",
			(int)sizeof(segment.damage) - 1, why.text);
	*ret_segment = segment;
	return 0;
}

int folder_each(const char *path, int (*see)(void *context, const char *name), void *context,
	struct error *error)
{
	char folder[PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	int r = store_file(path, STORE_SEGMENTS, folder, error);

	if (r < 0)
		return r;
	dir = opendir(folder);
	if (!dir)
		return error_set(error, -errno, "%s: %s", folder, strerror(errno));
	for (errno = 0; r >= 0 && (entry = readdir(dir)); errno = 0)
		r = see(context, entry->d_name);
	if (r >= 0 && errno)
		r = error_set(error, -errno, "%s: %s", folder, strerror(errno));
	closedir(dir);
	return r < 0 ? r : 0;
}

/* "BOOT-SEQUENCE.tape": how much of the name is the boot, and the number. False for a name that is not ours. */
static bool split_name(const char *name, int *ret_boot, uint64_t *ret_sequence)
{
	const char *dash = strrchr(name, '-');
	char *end;

	if (!dash || dash[1] < '0' || dash[1] > '9')
		return false;
	*ret_boot = dash - name;
	*ret_sequence = strtoull(dash + 1, &end, 10);
	return strcmp(end, STORE_SUFFIX) == 0;
}

static bool has_times(const struct store_segment *segment)
{
	return segment->begin_ns || !*segment->damage;
}

/* The segments of the same boot with the nearest numbers; NULL where there is none. */
static void find_neighbours(const struct store_segment *lost, const struct store_segments *all,
	const struct store_segment **ret_before, const struct store_segment **ret_after)
{
	uint64_t number, other, before = 0, after = UINT64_MAX;
	int boot, other_boot;

	*ret_before = *ret_after = NULL;
	if (!split_name(lost->name, &boot, &number))
		return;
	for (size_t i = 0; i < all->list.count; i++) {
		const struct store_segment *segment = &all->list.items[i];

		if (!has_times(segment) || !split_name(segment->name, &other_boot, &other) ||
			other_boot != boot || memcmp(segment->name, lost->name, boot) != 0)
			continue;
		if (other < number && other >= before) {
			before = other;
			*ret_before = segment;
		} else if (other > number && other <= after) {
			after = other;
			*ret_after = segment;
		}
	}
}

/* A file is written at its segment's end, and a copy of it no earlier. */
static void place(struct store_segment *lost, const struct store_segments *all)
{
	const struct store_segment *before, *after;
	uint64_t changed_ns = lost->end_ns;

	find_neighbours(lost, all, &before, &after);
	lost->end_ns = after	? after->begin_ns
		       : before ? MIN(changed_ns, before->end_ns + LENGTH_MAX_NS)
				: changed_ns;
	lost->begin_ns = before ? before->end_ns : lost->end_ns - MIN(lost->end_ns, LENGTH_MAX_NS);
	/* segments that touch, or a clock that was set back: it is somewhere about there */
	if (lost->end_ns <= lost->begin_ns)
		lost->end_ns = lost->begin_ns + 1;
}

static int place_all(
	struct index *index, struct store_segments *segments, size_t first, struct error *error)
{
	struct store_segments all = { 0 };
	size_t lost = 0;
	int r = 0;

	for (size_t i = first; i < segments->list.count; i++)
		lost += !has_times(&segments->list.items[i]);
	if (!lost)
		return 0;
	if (index)
		r = index_find(index, 0, UINT64_MAX, &all, error);
	for (size_t i = first; r == 0 && i < segments->list.count; i++)
		if (has_times(&segments->list.items[i]))
			r = array_push(&all.list, segments->list.items[i]);
	for (size_t i = first; r == 0 && i < segments->list.count; i++)
		if (!has_times(&segments->list.items[i]))
			place(&segments->list.items[i], &all);
	array_done(&all.list);
	return r;
}

struct unknown {
	const char *path;
	struct index *index;
	struct store_segments *segments;
	struct error *error;
};

static int see_unknown(void *context, const char *name)
{
	const struct unknown *unknown = context;
	struct store_segment segment;
	int r = 0;

	if (!folder_is_segment(name))
		return 0;
	if (unknown->index)
		r = index_knows(unknown->index, name, unknown->error);
	if (r != 0)
		return r < 0 ? r : 0;
	r = folder_describe(unknown->path, name, &segment, unknown->error);
	if (r < 0)
		return r == -ENOENT ? 0 : r; /* taken meanwhile */
	return array_push(&unknown->segments->list, segment);
}

int folder_unknown(
	const char *path, struct index *index, struct store_segments *segments, struct error *error)
{
	struct unknown unknown = { path, index, segments, error };
	size_t first = segments->list.count;
	int r = folder_each(path, see_unknown, &unknown, error);

	return r < 0 ? r : place_all(index, segments, first, error);
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

void folder_sort(struct store_segments *segments)
{
	if (segments->list.count)
		qsort(segments->list.items, segments->list.count, sizeof(*segments->list.items),
			compare_segments);
}
