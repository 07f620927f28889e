// SPDX-License-Identifier: GPL-2.0-only
/*
 * A listing: what a look at a store found, for the questions of one reader and for the look of the
 * next one. The sealed segments stay right as long as the folder of segments does not change,
 * because each segment comes and goes under its own name.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/disk/files.h"
#include "store/read/reader.h"

/* A look reads everything again after this time. */
#define LISTING_NS (3600 * NSEC_PER_SEC)
/*
 * A folder that changed within this time before a look may change again without a new time, because
 * file systems round times. The coarsest one rounds to two seconds.
 */
#define LISTING_ROUNDING_NS (3 * NSEC_PER_SEC)

struct store_listing {
	/* Sorted by name. Valid if the folder still has the times of `folder`. */
	struct store_segments sealed;
	struct stat folder;
	bool has_folder;
	/* When a look read everything, on the monotonic clock. */
	uint64_t read_ns;
	/* The spools of the reader that looked last. */
	struct store_segments unsealed;
	/* A spool that this reader found is sealed, too. */
	bool doubles;
};

struct store_listing *store_listing_new(void)
{
	return calloc(1, sizeof(struct store_listing));
}

struct store_listing *store_listing_free(struct store_listing *listing)
{
	if (!listing)
		return NULL;
	array_done(&listing->sealed.list);
	array_done(&listing->unsealed.list);
	free(listing);
	return NULL;
}

void store_reader_use_listing(struct store_reader *reader, struct store_listing *listing)
{
	if (reader->is_file)
		return;
	reader->listing = listing;
	reader->has_looked = false;
}

void listing_forget(struct store_listing *listing)
{
	listing->sealed.list.count = 0;
	listing->has_folder = false;
}

static bool listing_same_folder(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Returns whether a change of the folder from now on changes its times, too. */
static bool listing_is_settled(const struct stat *folder)
{
	uint64_t changed_ns = folder->st_ctim.tv_sec * NSEC_PER_SEC + folder->st_ctim.tv_nsec;

	return changed_ns + LISTING_ROUNDING_NS < clock_ns(CLOCK_REALTIME);
}

/*
 * Returns whether all segments are readable. Otherwise the next look reads the index again, because
 * only the index knows what a damaged or vanished segment had.
 */
static bool listing_is_sound(const struct store_segments *sealed)
{
	for (size_t i = 0; i < sealed->list.count; i++)
		if (*sealed->list.items[i].damage)
			return false;
	return true;
}

/* Reads the folder, and also the index and the sizes of all files if `sealed` is empty. */
static int listing_read(struct store_reader *reader, struct store_segments *sealed,
			struct error *error)
{
	struct store_listing *listing = reader->listing;
	_cleanup_(store_segments_done) struct store_segments found = { 0 };
	const struct store_segments before = *sealed;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	bool all = !sealed->list.count;
	int r = reader_gather_sealed(reader, sealed, &found, error);

	if (r < 0)
		return r;
	if (all)
		r = totals_check_sizes(reader, &found, error);
	if (r < 0)
		return r;
	r = reader_drop_doubles(reader, &found, error);
	if (r < 0)
		return r;
	*sealed = found;
	found = before;
	if (all)
		listing->read_ns = now_ns;
	return 0;
}

static int listing_read_sealed(struct store_reader *reader, struct error *error)
{
	struct store_listing *listing = reader->listing;
	char folder[PATH_MAX];
	struct stat about;
	bool has_folder;
	int r = store_file(reader->path, STORE_SEGMENTS, folder, error);

	if (r < 0)
		return r;
	/* before the folder is read, so that a change while it is read counts for the next look */
	has_folder = stat(folder, &about) == 0;
	if (clock_ns(CLOCK_MONOTONIC) - listing->read_ns > LISTING_NS)
		listing_forget(listing);
	if (has_folder && listing->has_folder && listing_same_folder(&about, &listing->folder))
		return 0;
	listing->has_folder = false;
	if (!listing_is_sound(&listing->sealed))
		listing_forget(listing);
	r = listing_read(reader, &listing->sealed, error);
	if (r < 0)
		return r;
	listing->folder = about;
	listing->has_folder = has_folder && listing_is_settled(&about);
	return 0;
}

static int listing_compare_name(const void *name, const void *segment)
{
	return strcmp(name, ((const struct store_segment *)segment)->name);
}

/* Returns whether a spool is also a sealed segment, since the sealer has just renamed it. */
static bool listing_has_sealed(const struct store_listing *listing,
			       const struct store_segment *spool)
{
	const struct store_segments *sealed = &listing->sealed;
	struct store_identity identity;
	char name[80];

	if (!sealed->list.count || !store_identify(spool->name, &identity))
		return false;
	snprintf(name, sizeof(name), "%.*s" STORE_SUFFIX, (int)identity.size, spool->name);
	return bsearch(name, sealed->list.items, sealed->list.count, sizeof(*sealed->list.items),
		       listing_compare_name);
}

/* Looks at the store. Spools come first, because a tape is sealed before its spool goes. */
static int listing_look(struct store_reader *reader, struct error *error)
{
	struct store_listing *listing = reader->listing;
	int r;

	listing->unsealed.list.count = 0;
	listing->doubles = false;
	r = reader_gather_spools(reader, UINT64_MAX, &listing->unsealed, error);
	if (r < 0)
		return r;
	r = listing_read_sealed(reader, error);
	for (size_t i = 0; r == 0 && i < listing->unsealed.list.count; i++)
		listing->doubles |= listing_has_sealed(listing, &listing->unsealed.list.items[i]);
	return r;
}

static int listing_see_some(const struct store_segments *segments, listing_see *see, void *context)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < segments->list.count; i++)
		r = see(context, &segments->list.items[i]);
	return r;
}

/* The way without doubles, which exist for moments only. */
static int listing_see_all(const struct store_listing *listing, listing_see *see, void *context)
{
	int r = listing_see_some(&listing->sealed, see, context);

	return r < 0 ? r : listing_see_some(&listing->unsealed, see, context);
}

struct listing_window {
	uint64_t from_ns, to_ns;
	struct store_segments *segments;
};

static int listing_add(void *context, const struct store_segment *segment)
{
	const struct listing_window *window = context;

	return reader_overlaps(segment, window->from_ns, window->to_ns)
		       ? array_push(&window->segments->list, *segment)
		       : 0;
}

static int listing_look_once(struct store_reader *reader, struct error *error)
{
	int r = reader->has_looked ? 0 : listing_look(reader, error);

	reader->has_looked = r == 0;
	return r;
}

int listing_gather(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		   struct store_segments *segments, struct error *error)
{
	struct listing_window window = { from_ns, to_ns, segments };
	int r = listing_look_once(reader, error);

	if (r < 0)
		return r;
	r = listing_see_all(reader->listing, listing_add, &window);
	return r == 0 && reader->listing->doubles ? reader_drop_doubles(reader, segments, error)
						  : r;
}

int listing_each(struct store_reader *reader, listing_see *see, void *context, struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments all = { 0 };
	int r = listing_look_once(reader, error);

	if (r < 0)
		return r;
	if (!reader->listing->doubles)
		return listing_see_all(reader->listing, see, context);
	r = listing_gather(reader, 0, UINT64_MAX, &all, error);
	return r < 0 ? r : listing_see_some(&all, see, context);
}
