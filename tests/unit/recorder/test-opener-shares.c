// SPDX-License-Identifier: GPL-2.0-only
/* Each owner pays for opening its files. Only the test moves the clock. */
#include "tests/check.h"

#include <stdio.h>
#include <string.h>

#define FAKE_CLOCK_RUNS_REALTIME
#include "tests/fake-clock.h"
#define HELPERS_OPEN
#include "tests/helpers.h"
#include "tests/openers.h"

/*
 * Maps a file under ever new names, until an owner has used up its share and is refused. Returns
 * the number of files, and the last name in `place`.
 */
static uint64_t see_until_refused(struct opener *opener, struct place *place, uint64_t owner)
{
	struct opener_counts counts = { 0 };
	char first[PATH_MAX];
	uint64_t count = 0;

	memcpy(first, place->path, sizeof(first));
	while (!counts.failed) {
		count++;
		snprintf(place->path, sizeof(place->path), "%s/%" PRIu64, place->dir, count);
		CHECK_EQ(link(first, place->path), 0);
		see_for(opener, place, owner);
		counts = turn_until_tried(opener, count);
		/* the share of a process in the cache must not end this */
		fake_clock_pass(HOLD_NS);
	}
	return count;
}

static void remove_links(const struct place *place, uint64_t count)
{
	char path[PATH_MAX];

	for (uint64_t i = 1; i <= count; i++) {
		snprintf(path, sizeof(path), "%s/%" PRIu64, place->dir, i);
		CHECK_EQ(unlink(path), 0);
	}
	snprintf(path, sizeof(path), "%s/file", place->dir);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(rmdir(place->dir), 0);
}

/* An owner who has used up its share loses its own files, and not those that others map, too. */
static void test_shared(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text");
	uint64_t count = see_until_refused(opener, &place, 1);

	see_for(opener, &place, 2);
	CHECK_EQ(turn_until_tried(opener, count + 1).opened, count);
	/* the first owner asks first, and the second one before the answer has come */
	snprintf(place.path, sizeof(place.path), "%s/./%" PRIu64, place.dir, count);
	see_for(opener, &place, 1);
	see_for(opener, &place, 2);
	CHECK_EQ(turn_until_tried(opener, count + 2).opened, count + 1);
	remove_links(&place, count);
}

/* The record of the fork that says who pays for a process may come after its mappings. */
static void test_unowned(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text");

	see_for(opener, &place, TRACKER_OWNER_UNKNOWN);
	CHECK_EQ(turn_until_tried(opener, 1).opened, 1);
	remove_file(&place);
}

CHECK_MAIN({ "an owner without a share does not keep a file from others", test_shared },
	   { "a file is opened although its owner stays unknown", test_unowned })
