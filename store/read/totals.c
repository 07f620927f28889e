// SPDX-License-Identifier: GPL-2.0-only
/* Adds up the size of a store, and reads its limits. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "store/disk/beneath.h"
#include "store/disk/files.h"
#include "store/disk/segment-dir.h"
#include "store/read/reader.h"
#include "store/disk/limits.h"
#include "store/disk/store-size.h"

static int totals_add_segment(void *context, const struct store_segment *segment)
{
	struct store_totals *totals = context;

	if (segment->vanished) {
		totals->vanished++;
		return 0;
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
	return 0;
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

/* Reads the description of a file whose size differs. Returns 0 or a negative errno. */
static int totals_check_size(const struct store_reader *reader, int folder,
			     struct store_segment *segment, struct error *error)
{
	struct store_segment file;
	struct stat about;
	int r;

	if (fstatat(folder, segment->name, &about, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (uint64_t)about.st_size == segment->bytes)
		return 0;
	r = segment_dir_describe(reader->path, segment->name, &file, error);
	if (r < 0)
		/* retention removed it meanwhile */
		return r == -ENOENT ? 0 : r;
	segment->bytes = file.bytes;
	memcpy(segment->damage, file.damage, sizeof(segment->damage));
	return 0;
}

int totals_check_sizes(const struct store_reader *reader, struct store_segments *all,
		       struct error *error)
{
	/* names are found faster from the folder's descriptor */
	_cleanup_close_ int folder =
		beneath_open(reader->path, STORE_SEGMENTS, O_RDONLY | O_DIRECTORY, 0);
	int r = 0;

	for (size_t i = 0; r == 0 && folder >= 0 && i < all->list.count; i++) {
		struct store_segment *segment = &all->list.items[i];

		if (!segment->unsealed && !*segment->damage)
			r = totals_check_size(reader, folder, segment, error);
	}
	return r;
}

static int add_segments(struct store_reader *reader, struct store_totals *totals,
			struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments all = { 0 };
	int r = reader_gather(reader, 0, UINT64_MAX, &all, error);

	if (r < 0)
		return r;
	if (!reader->is_file)
		r = totals_check_sizes(reader, &all, error);
	for (size_t i = 0; r == 0 && i < all.list.count; i++)
		r = totals_add_segment(totals, &all.list.items[i]);
	return r;
}

static int totals_collect(struct store_reader *reader, struct store_totals *totals,
			  struct statvfs *ret_about, struct error *error)
{
	/* a listing has compared the sizes already */
	int r = reader->listing ? listing_each(reader, totals_add_segment, totals, error)
				: add_segments(reader, totals, error);

	totals->bytes = totals->segment_bytes;
	if (r < 0)
		return r;
	if (!reader->is_file)
		r = add_folder(reader, totals, error);
	if (r < 0)
		return r;
	if (statvfs(reader->path, ret_about) < 0)
		return error_set(error, -errno, "%s", strerror(errno));
	return 0;
}

int store_reader_totals(struct store_reader *reader, struct store_totals *ret_totals,
			struct error *error)
{
	struct store_totals totals = { 0 };
	struct statvfs about;
	int r = totals_collect(reader, &totals, &about, error);

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
