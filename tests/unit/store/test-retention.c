// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <sys/stat.h>

#include "store/disk/notes.h"
#include "tests/fake-clock.h"
#include "tests/tapes.h"

#define AT(seconds) (TAPES_REALTIME + (seconds)*NSEC_PER_SEC)
#define NO_LIMITS                                         \
	{                                                 \
		UINT64_MAX, UINT64_MAX, 0, 0, true, false \
	}

/* Seals ten seconds as the segment with this number. */
static void seal(struct store_writer *writer, unsigned int number)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(number * 10, number * 10 + 10);

	tape->sequence = number;
	tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 1, 1, "x"), 0);
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
}

/*
 * Ten segments and their limits. The segments are old, so the limits of age are relative to their
 * time.
 */
struct ten {
	struct tapes_store store;
	struct store_writer *writer;
	struct store_limits limits;
	struct store_retained retained;
};

static void ten_init(struct ten *ten)
{
	*ten = (struct ten){ .limits = NO_LIMITS };
	tapes_store_init(&ten->store);
	CHECK_EQ(store_writer_open(ten->store.path, &ten->writer, NULL), 0);
	for (unsigned int i = 0; i < 10; i++)
		seal(ten->writer, i);
}

static void ten_done(struct ten *ten)
{
	store_writer_close(ten->writer);
	tapes_store_done(&ten->store);
}

static uint64_t age_of(unsigned int second)
{
	return clock_ns(CLOCK_REALTIME) - AT(second);
}

struct told {
	char text[512];
};

static void tell(void *context, const struct store_segment *segment, const char *why)
{
	struct told *told = context;
	size_t at = strlen(told->text);

	snprintf(told->text + at, sizeof(told->text) - at, "%llu ",
		 (unsigned long long)segment->sequence);
}

static const char *retain(struct store_writer *writer, struct store_limits limits, bool dry,
			  struct store_retained *ret_retained)
{
	static struct told told;
	struct error error = { 0 };

	told.text[0] = 0;
	if (store_writer_retain(writer, &limits, dry, tell, &told, ret_retained, &error) < 0)
		CHECK_FAIL("%s", error.text);
	return told.text;
}

static const char *ten_retain(struct ten *ten, bool dry)
{
	return retain(ten->writer, ten->limits, dry, &ten->retained);
}

static size_t listed(const struct tapes_store *store)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	size_t count, i;

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &segments, NULL), 0);
	count = segments.list.count;
	for (i = 0; i < count; i++)
		CHECK_STR(segments.list.items[i].damage, "");
	array_done(&segments.list);
	return count;
}

static void test_by_age(void)
{
	_cleanup_(ten_done) struct ten ten;

	ten_init(&ten);
	CHECK_STR(ten_retain(&ten, false), "");
	CHECK_EQ(ten.retained.segments, 10);
	ten.limits.max_age_ns = age_of(35);
	CHECK_STR(ten_retain(&ten, true), "0 1 2 ");
	CHECK_EQ(listed(&ten.store), 10);
	CHECK_EQ(ten.retained.removed, 3);
	CHECK_STR(ten_retain(&ten, false), "0 1 2 ");
	CHECK_EQ(ten.retained.removed, 3);
	CHECK_EQ(ten.retained.segments, 7);
	CHECK_EQ(listed(&ten.store), 7);
	CHECK_STR(ten_retain(&ten, false), "");
	ten.limits.max_age_ns = 0;
	ten_retain(&ten, false);
	CHECK_EQ(listed(&ten.store), 1);
}

static void test_by_bytes(void)
{
	_cleanup_(ten_done) struct ten ten;
	struct error error;
	uint64_t bytes;

	ten_init(&ten);
	ten_retain(&ten, true);
	bytes = ten.retained.bytes;
	ten.limits.max_bytes = bytes;
	CHECK_STR(ten_retain(&ten, true), "");
	ten.limits.max_bytes = bytes - 1;
	CHECK_STR(ten_retain(&ten, true), "0 ");
	CHECK_EQ(ten.retained.bytes, bytes - ten.retained.removed_bytes);
	ten.limits.max_bytes = bytes - ten.retained.removed_bytes - 1;
	CHECK_STR(ten_retain(&ten, true), "0 1 ");
	ten.limits.max_bytes = UINT64_MAX;
	ten.limits.keep_free_bytes = UINT64_MAX;
	/* removals cannot free enough disk space */
	CHECK_STR(ten_retain(&ten, false), "");
	CHECK(ten.retained.starved);
	CHECK_EQ(ten.retained.segments, 10);
	CHECK(store_space_describe(&ten.limits, &ten.retained, &error));
	CHECK(strstr(error.text, "the disk has only"));
	/* an empty disk would have enough free space, but other data fills the disk */
	ten.limits.keep_free_bytes = ten.retained.disk_bytes - 1;
	CHECK_STR(ten_retain(&ten, false), "");
	CHECK(store_space_describe(&ten.limits, &ten.retained, &error));
	CHECK(strstr(error.text, "others use too much"));
	ten.limits.keep_free_bytes = 0;
	ten_retain(&ten, false);
	CHECK(!ten.retained.starved && !store_space_describe(&ten.limits, &ten.retained, &error));
}

/* The message states all sizes. The used size includes the segments that were removed so far. */
static void test_space_text(void)
{
	const struct store_limits limits = { .keep_free_bytes = 5000000000 };
	const struct store_retained retained = {
		.for_space = 2,
		.for_space_bytes = 1500000,
		.free_bytes = 4000000000,
		.disk_bytes = 100000000000,
		.bytes = 7000000,
		.removed_bytes = 2000000,
	};
	struct error error = { 0 };

	CHECK(store_space_describe(&limits, &retained, &error));
	CHECK_STR(error.text, "4.0 GB of the disk are free, but 5.0 GB should be; the store uses "
			      "9.0 MB; removed the oldest 2 segments (1.5 MB)");
}

/*
 * The notes contain an incident at 45 s that began at 34 s. Pins reach ten minutes, so the segments
 * of this test are longer.
 */
static void test_pins(void)
{
	const struct notes_field fields[] = { { "stall_ns", "1794971554000000000" } };
	const struct note incident = { NOTES_INCIDENT, AT(45), fields, 1 };
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_limits limits = NO_LIMITS;
	struct store_retained retained;

	tapes_store_init(&store);
	CHECK_EQ(notes_append(store.path, &incident, NULL), 0);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	for (unsigned int i = 0; i < 6; i++) {
		/*
		 * the segments have five minutes each from -900 s on; the second to the fifth are
		 * within ten minutes
		 */
		uint64_t begin_ns = TAPES_PERF + (i * 300) * NSEC_PER_SEC - 900 * NSEC_PER_SEC;
		_cleanup_(cleanup_tape) struct tape *tape =
			tapes_bare(begin_ns, begin_ns + 300 * NSEC_PER_SEC);

		tapes_anchor(tape, TAPES_PERF, TAPES_REALTIME);
		tape->sequence = i;
		CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
	}
	limits.max_age_ns = age_of(601);
	limits.pin_ns = UINT64_MAX;
	CHECK_STR(retain(writer, limits, true, &retained), "0 ");
	CHECK_EQ(retained.pinned, 4);
	limits.pin_ns = 0;
	CHECK_STR(retain(writer, limits, true, &retained), "0 1 2 3 4 ");
}

/* The age of a file that cannot be read is that of its modification time. */
static void test_damaged_files(void)
{
	_cleanup_(ten_done) struct ten ten;
	char command[512];

	ten_init(&ten);
	snprintf(
		command, sizeof(command),
		"cd '%s' && echo junk > segments/junk.tape && touch -d @%llu segments/junk.tape && "
		"echo junk > spool/x-1.spool.damaged && touch -d @%llu spool/x-1.spool.damaged",
		ten.store.path, AT(25) / NSEC_PER_SEC, AT(26) / NSEC_PER_SEC);
	CHECK_EQ(system(command), 0);
	ten.limits.max_age_ns = age_of(35);
	CHECK_STR(ten_retain(&ten, false), "0 1 0 0 2 ");
	snprintf(command, sizeof(command),
		 "cd '%s' && test ! -e segments/junk.tape && test ! -e spool/x-1.spool.damaged",
		 ten.store.path);
	CHECK_EQ(system(command), 0);
	CHECK_EQ(listed(&ten.store), 7);
}

/* If a row of the index is wrong, the file is not removed. */
static void test_wrong_row(void)
{
	_cleanup_(ten_done) struct ten ten;
	char command[512];

	ten_init(&ten);
	snprintf(command, sizeof(command),
		 "cd '%s/segments' && cp *-0000000008.tape $(echo *-0000000000.tape)",
		 ten.store.path);
	CHECK_EQ(system(command), 0);
	ten.limits.max_age_ns = age_of(35);
	CHECK_STR(ten_retain(&ten, false), "1 2 ");
	/* without the row, its file shows the segment: it is the eighth again */
	ten_retain(&ten, false);
	ten.limits.max_age_ns = age_of(95);
	CHECK_STR(ten_retain(&ten, false), "3 4 5 6 7 8 8 ");
}

/* A dry run beside a writer changes nothing, with and without an index. */
static void test_dry(void)
{
	_cleanup_(ten_done) struct ten ten;
	char command[256], none[256];

	ten_init(&ten);
	ten.limits.max_age_ns = age_of(35);
	snprintf(command, sizeof(command), "rm -f '%s'/index.sqlite*", ten.store.path);
	for (int i = 0; i < 2; i++) {
		_cleanup_(cleanup_store_writer) struct store_writer *dry = NULL;

		CHECK_EQ(store_writer_open_dry(ten.store.path, &dry, NULL), 0);
		CHECK_STR(retain(dry, ten.limits, false, &ten.retained), "0 1 2 ");
		CHECK_EQ(ten.retained.segments, 7);
		CHECK_EQ(listed(&ten.store), 10);
		CHECK_EQ(system(command), 0);
	}
	CHECK_STR(ten_retain(&ten, false), "0 1 2 ");
	CHECK_EQ(listed(&ten.store), 7);
	snprintf(none, sizeof(none), "%s/none", ten.store.path);
	CHECK_EQ(store_writer_open_dry(none, &ten.writer, NULL), -ENOENT);
	CHECK_EQ(access(none, F_OK), -1);
}

/*
 * Compares the limits with no limits. Returns how many segments would be removed, and how many of
 * these are pinned.
 */
static const char *compared(struct ten *ten, struct store_limits old, struct store_limits limits)
{
	static char text[64];
	struct store_limits_change change;
	struct error error = { 0 };

	if (store_writer_compare_limits(ten->writer, &old, &limits, &change, &error) < 0)
		CHECK_FAIL("%s", error.text);
	CHECK_EQ(change.segments, 10);
	CHECK(change.removed == 0 || (change.from_ns == AT(0) && change.to_ns > AT(0)));
	CHECK_EQ(change.removed_bytes * 10, change.segment_bytes * change.removed);
	snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)change.removed,
		 (unsigned long long)change.pinned);
	return text;
}

static void test_compare_limits(void)
{
	static const struct store_limits none = NO_LIMITS;
	struct store_limits old = none, limits = none;
	_cleanup_(ten_done) struct ten ten;
	struct note pin = { .kind = NOTES_PIN, .realtime_ns = AT(0) };
	char from[24], to[24], until[24];
	const struct notes_field fields[] = {
		{ "from_ns", from },
		{ "to_ns", to },
		{ "until_ns", until },
	};

	ten_init(&ten);
	CHECK_STR(compared(&ten, none, none), "0 0");
	limits.max_bytes = 20;
	CHECK_STR(compared(&ten, none, limits), "9 0");
	/* segments that the old limits would remove anyway do not count */
	CHECK_STR(compared(&ten, limits, limits), "0 0");
	old.max_age_ns = age_of(35);
	CHECK_STR(compared(&ten, none, old), "3 0");
	limits = old;
	limits.max_age_ns = age_of(45);
	CHECK_STR(compared(&ten, none, limits), "4 0");
	snprintf(from, sizeof(from), "%llu", (unsigned long long)AT(1));
	snprintf(to, sizeof(to), "%llu", (unsigned long long)AT(2));
	snprintf(until, sizeof(until), "%llu", (unsigned long long)UINT64_MAX - 1);
	pin.fields = fields;
	pin.field_count = ARRAY_SIZE(fields);
	CHECK_EQ(notes_append(ten.store.path, &pin, NULL), 0);
	limits = none;
	limits.max_bytes = 20;
	CHECK_STR(compared(&ten, none, limits), "9 1");
	CHECK_EQ(listed(&ten.store), 10);
}

/* Between two checkpoints, the WAL could take the disk space of segments. */
static void test_wal(void)
{
	_cleanup_(ten_done) struct ten ten;
	char path[256], index[256];
	struct stat about, small;

	ten_init(&ten);
	snprintf(path, sizeof(path), "%s/index.sqlite-wal", ten.store.path);
	snprintf(index, sizeof(index), "%s/index.sqlite", ten.store.path);
	for (unsigned int i = 0; i < 200; i++) {
		seal(ten.writer, i);
		CHECK_EQ(stat(path, &about), 0);
		CHECK(about.st_size <= 128 << 10);
	}
	ten_retain(&ten, true);
	CHECK_EQ(truncate(path, about.st_size + (1 << 20)), 0);
	ten.limits.max_bytes = ten.retained.bytes;
	CHECK_EQ(stat(index, &small), 0);
	CHECK(ten.retained.bytes > (uint64_t)small.st_size);
	CHECK_STR(ten_retain(&ten, false), "");
	CHECK_EQ(ten.retained.segments, 200);
}

static off_t notes_size(const struct tapes_store *store)
{
	struct stat about;
	char path[256];

	snprintf(path, sizeof(path), "%s/notes", store->path);
	CHECK_EQ(stat(path, &about), 0);
	return about.st_size;
}

static void test_limits(void)
{
	struct store_limits limits = { 1, 2, 3, 4, false, false }, back;
	off_t noted;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(store_reader_limits(reader, &back, NULL), 0);
	CHECK_EQ(back.max_bytes, STORE_MAX_BYTES);
	CHECK(back.keep_free_bytes && back.keep_free_bytes <= STORE_KEEP_FREE_BYTES);
	CHECK(back.max_age_ns == UINT64_MAX && back.pin_ns == STORE_PIN_NS);
	CHECK_EQ(store_writer_note_limits(writer, &back, NULL), 0);
	CHECK_EQ(store_writer_note_limits(writer, &limits, NULL), 0);
	CHECK_EQ(store_reader_limits(reader, &back, NULL), 1);
	CHECK(back.max_age_ns == 1 && back.max_bytes == 2 && back.keep_free_bytes == 3);
	CHECK_EQ(back.pin_ns, 4);
	/* a recorder that starts again notes the same limits, which must not add to the notes */
	noted = notes_size(&store);
	CHECK_EQ(store_writer_note_limits(writer, &limits, NULL), 0);
	CHECK_EQ(notes_size(&store), noted);
	limits.pin_ns = 5;
	CHECK_EQ(store_writer_note_limits(writer, &limits, NULL), 0);
	CHECK(notes_size(&store) > noted);
	store_limits_default("not/yet/there", &back);
	CHECK(back.keep_free_bytes && back.keep_free_bytes <= STORE_KEEP_FREE_BYTES);
}

/* Files below /proc take no disk space, but the folder above /proc does. */
static void test_folder_not_there_yet(void)
{
	static const char *const paths[] = { "/proc", "/proc/none", "/proc/none/",
					     "/proc/none/x/y" };
	struct store_limits limits;
	uint64_t bytes;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		CHECK_EQ(store_disk_bytes(paths[i], &bytes, NULL), 0);
		CHECK_EQ(bytes, 0);
		store_limits_default(paths[i], &limits);
		CHECK_EQ(limits.keep_free_bytes, 0);
	}
	CHECK_EQ(store_disk_bytes("/none/x", &bytes, NULL), 0);
	CHECK(bytes);
	CHECK_EQ(store_disk_bytes("none", &bytes, NULL), 0);
	CHECK(bytes);
}

CHECK_MAIN({ "segments are removed for their age", test_by_age },
	   { "segments are removed for bytes and free space", test_by_bytes },
	   { "a message states what is free and used", test_space_text },
	   { "segments around an incident stay", test_pins },
	   { "files that cannot be read are removed by their age", test_damaged_files },
	   { "a wrong row removes no file", test_wrong_row },
	   { "a dry run beside a writer changes nothing", test_dry },
	   { "the WAL costs no segment", test_wal }, { "limits are remembered", test_limits },
	   { "what a change of limits would remove", test_compare_limits },
	   { "the file system of a folder that does not exist yet", test_folder_not_there_yet })
