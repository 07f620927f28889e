// SPDX-License-Identifier: GPL-2.0-only
/* Adds up the size of a store, and reads its limits. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "store/disk/files.h"
#include "store/disk/segment-dir.h"
#include "store/read/reader.h"
#include "store/disk/limits.h"
#include "store/disk/store-size.h"

static void totals_add_segment(struct store_totals *totals, const struct store_segment *segment)
{
	if (segment->vanished) {
		totals->vanished++;
		return;
	}
	if (*segment->damage) {
		totals->damaged++;
	} else {
		totals->begin_ns = totals->begin_ns ? MIN(totals->begin_ns, segment->begin_ns)
						    : segment->begin_ns;
		totals->end_ns = MAX(totals->end_ns, segment->end_ns);
	}
	if (segment->unsealed) {
		totals->unsealed++;
		totals->unsealed_end_ns = MAX(totals->unsealed_end_ns, segment->end_ns);
		totals->spool_bytes += segment->bytes;
	} else {
		totals->segments++;
		totals->segment_bytes += segment->bytes;
	}
	totals->samples += segment->samples;
	totals->lost += segment->lost;
}

static int totals_see_nothing(void *context, const struct note *note)
{
	return 0;
}

static int add_folder(const struct store_reader *reader, struct store_totals *totals,
		      struct error *error)
{
	uint64_t damaged = 0, bytes = 0, taken_bytes;
	int r = notes_read(reader->path, totals_see_nothing, NULL, &damaged, error);

	totals->damaged += damaged;
	if (r == 0)
		r = store_other_bytes(reader->path, &bytes, &taken_bytes, error);
	totals->bytes += bytes;
	return r;
}

/*
 * Reads the description of each file whose size differs from the index, because the file was
 * changed after sealing. Opening thousands of files would take too long, so only
 * store_reader_verify() finds changes that keep the size.
 */
static int check_sizes(const struct store_reader *reader, struct store_segments *all,
		       struct error *error)
{
	char folder[PATH_MAX], path[PATH_MAX];
	int r = store_file(reader->path, STORE_SEGMENTS, folder, error);

	for (size_t i = 0; r == 0 && i < all->list.count; i++) {
		struct store_segment *segment = &all->list.items[i], file;
		struct stat about;

		if (segment->unsealed || *segment->damage ||
		    store_file(folder, segment->name, path, NULL) < 0 || lstat(path, &about) < 0 ||
		    (uint64_t)about.st_size == segment->bytes)
			continue;
		r = segment_dir_describe(reader->path, segment->name, &file, error);
		if (r == 0) {
			segment->bytes = file.bytes;
			memcpy(segment->damage, file.damage, sizeof(segment->damage));
		} else if (r == -ENOENT) {
			/* retention removed it meanwhile */
			r = 0;
		}
	}
	return r;
}

int store_reader_totals(struct store_reader *reader, struct store_totals *ret_totals,
			struct error *error)
{
	struct store_totals totals = { 0 };
	struct store_segments all = { 0 };
	struct statvfs about;
	int r = reader_gather(reader, 0, UINT64_MAX, &all, error);

	if (r == 0 && !reader->is_file)
		r = check_sizes(reader, &all, error);
	for (size_t i = 0; r == 0 && i < all.list.count; i++)
		totals_add_segment(&totals, &all.list.items[i]);
	array_done(&all.list);
	totals.bytes = totals.segment_bytes;
	if (r == 0 && !reader->is_file)
		r = add_folder(reader, &totals, error);
	if (r == 0 && statvfs(reader->path, &about) < 0)
		r = error_set(error, -errno, "%s", strerror(errno));
	if (r < 0)
		return error_prefix(error, r, "%s", reader->path);
	totals.free_bytes = (uint64_t)about.f_bavail * about.f_frsize;
	*ret_totals = totals;
	return 0;
}

int store_reader_limits(struct store_reader *reader, struct store_limits *ret_limits,
			struct error *error)
{
	store_limits_default(reader->path, ret_limits);
	return reader->is_file ? 0 : store_limits_read(reader->path, ret_limits, error);
}
