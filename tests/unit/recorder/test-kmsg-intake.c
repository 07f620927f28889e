// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each allocation fails once. The recorder reports every line of the kernel's log that it loses
 * without memory.
 */
#include "tests/check.h"

#include "recorder/kmsg/kmsg-intake.h"
#include "tests/scarce.h"
#include "tests/tapes.h"

#define BOOT "11111111-2222-3333-4444-555555555555"
#define STALL                                                                                   \
	"ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000). Time since " \
	"last napi 6596000 usec. napi scheduled: 1"

struct seen {
	size_t lines, incidents;
	char last[128];
};

static void see(void *context, struct kmsg_entry *entry)
{
	struct seen *seen = context;

	seen->lines++;
	seen->incidents += !!entry->id;
	snprintf(seen->last, sizeof(seen->last), "%s", entry->text);
	kmsg_entry_free(entry);
}

static void ignore(void *context, const struct error *error)
{
	(void)context;
	(void)error;
}

static void take(struct kmsg_intake *intake, const char *record)
{
	kmsg_intake_take(intake, record, strlen(record));
}

/* Takes three lines while an allocation fails. Returns whether one failed. */
static bool take_three(const struct tapes_store *store, const struct catalogue *catalogue,
		       unsigned int failure, struct seen *ret_seen)
{
	struct kmsg_intake intake = { .store = store->path,
				      .root = "/nowhere",
				      .begin_ns = NSEC_PER_SEC,
				      .put = see,
				      .trouble = ignore,
				      .context = ret_seen };
	bool failed;

	*ret_seen = (struct seen){ 0 };
	kmsg_intake_init(&intake, catalogue);
	CHECK_EQ(kmsg_intake_find(&intake, BOOT, NULL), 0);
	take(&intake, "6,7,2000000,-;usb 1-1: new device\n");
	scarce_begin(failure);
	take(&intake, "6,8,2100000,-;usb 1-2: new device\n");
	take(&intake, "4,9,2200000,-;" STALL "\n");
	take(&intake, "6,10,2300000,-;usb 1-3: new device\n");
	failed = scarce_end() && failure;
	CHECK_EQ(ret_seen->lines + intake.dropped, 4);
	CHECK_EQ(ret_seen->incidents + intake.dropped_incidents <= 1, true);
	CHECK(!intake.dropped || intake.starved);
	CHECK(!intake.starved || failed);
	kmsg_intake_done(&intake);
	return failed;
}

static void test_each_fails(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	unsigned int failure = 1, lost = 0;
	struct store_writer *writer;
	struct catalogue *catalogue;
	struct seen seen;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	store_writer_close(writer);
	CHECK_EQ(catalogue_new(NULL, &catalogue, NULL), 0);
	CHECK(!take_three(&store, catalogue, 0, &seen));
	CHECK_EQ(seen.lines, 4);
	CHECK_EQ(seen.incidents, 1);
	CHECK_STR(seen.last, "usb 1-3: new device");
	while (take_three(&store, catalogue, failure++, &seen))
		lost += seen.lines < 4;
	CHECK(lost >= 9);
	catalogue_free(catalogue);
}

/* The report of dropped lines is lost, too, and the recorder says so. */
static void test_report_fails(void)
{
	struct seen seen = { 0 };
	struct kmsg_intake intake = {
		.put = see, .context = &seen, .dropped = 3, .next_sequence = 10
	};

	scarce_begin(1);
	kmsg_intake_report_dropped(&intake);
	CHECK(scarce_end());
	CHECK(intake.starved);
	CHECK_EQ(seen.lines, 0);
	intake.dropped = 4;
	kmsg_intake_report_dropped(&intake);
	CHECK_STR(seen.last, "perftape: 4 lines of the kernel's log dropped, 0 of them incidents");
}

CHECK_MAIN({ "each allocation fails once", test_each_fails },
	   { "a report of dropped lines that fails", test_report_fails })
