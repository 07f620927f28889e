// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <sys/stat.h>

#include "store/write/retention-plan.h"
#include "store/disk/notes.h"
#include "tests/tapes.h"

#define AT(seconds) (TAPES_REALTIME + (seconds)*NSEC_PER_SEC)
#define NO_LIMITS                                         \
	{                                                 \
		UINT64_MAX, UINT64_MAX, 0, 0, true, false \
	}

/* Ten segments of 100 bytes and a second each, the first one at 1000 s; 50 bytes beside them. */
static void choice_init(struct retention_plan *choice)
{
	*choice = (struct retention_plan){ 0 };
	for (uint64_t i = 0; i < 10; i++)
		CHECK_EQ(array_push(&choice->items,
				    (struct retention_plan_item){
					    .begin_ns = (1000 + i) * NSEC_PER_SEC,
					    .end_ns = (1001 + i) * NSEC_PER_SEC,
					    .length_ns = NSEC_PER_SEC,
					    .bytes = 100,
					    .taken_bytes = 100,
					    .keep = i == 9 }),
			 0);
}

static void choice_done(struct retention_plan *choice)
{
	array_done(&choice->items);
	array_done(&choice->pins);
}

static void pin(struct retention_plan *choice, unsigned int from, unsigned int to,
		uint64_t until_ns)
{
	CHECK_EQ(array_push(&choice->pins,
			    (struct retention_plan_pin){ (1000 + from) * NSEC_PER_SEC,
							 (1000 + to) * NSEC_PER_SEC, until_ns }),
		 0);
}

/* What the store had when the disk became too full, and down to what it may go for that. */
static struct retention_plan_hold hold;
static uint64_t floor_bytes;

/*
 * "a": removed for its age, "b": for bytes, "f": for free space, "h": since others fill the disk,
 * "P": pinned beyond its age, "p": pinned, "s": spared, ".": stays.
 */
static const char *chosen(struct retention_plan *choice, struct store_limits limits, uint64_t now_s,
			  uint64_t free_bytes)
{
	static char text[16];
	struct retention_plan_figures figures = {
		.now_ns = now_s * NSEC_PER_SEC,
		.bytes = 1050,
		.taken_bytes = 1050,
		.free_bytes = free_bytes,
		.room_bytes = 200,
		.hold = hold,
		.floor_bytes = floor_bytes,
	};

	retention_plan_make(choice, &limits, &figures);
	for (size_t i = 0; i < choice->items.count; i++) {
		const struct retention_plan_item *item = &choice->items.items[i];

		text[i] = item->why && strstr(item->why, "older")    ? 'a'
			  : item->why && strstr(item->why, "larger") ? 'b'
			  : item->why && strstr(item->why, "free")   ? 'f'
			  : item->why				     ? 'h'
			  : item->spared			     ? 's'
			  : item->pinned && item->overdue	     ? 'P'
			  : item->pinned			     ? 'p'
								     : '.';
	}
	text[choice->items.count] = 0;
	return text;
}

static void test_choice_by_age(void)
{
	_cleanup_(choice_done) struct retention_plan choice;
	struct store_limits limits = NO_LIMITS;

	choice_init(&choice);
	CHECK_STR(chosen(&choice, limits, 5000, 0), "..........");
	limits.max_age_ns = 3 * NSEC_PER_SEC;
	/* the fourth ends at 1004: it is 3 s old and no older */
	CHECK_STR(chosen(&choice, limits, 1007, 0), "aaa.......");
	CHECK_STR(chosen(&choice, limits, 5000, 0), "aaaaaaaaa.");
	/* the wall clock was set back */
	CHECK_STR(chosen(&choice, limits, 10, 0), "..........");
}

static void test_choice_by_room(void)
{
	_cleanup_(choice_done) struct retention_plan choice;
	struct store_limits limits = NO_LIMITS;

	choice_init(&choice);
	limits.max_bytes = 1050;
	CHECK_STR(chosen(&choice, limits, 2000, 0), "..........");
	limits.max_bytes = 1049;
	CHECK_STR(chosen(&choice, limits, 2000, 0), "b.........");
	limits.max_bytes = 700;
	CHECK_STR(chosen(&choice, limits, 2000, 0), "bbbb......");
	limits.max_bytes = 0;
	CHECK_STR(chosen(&choice, limits, 2000, 0), "bbbbbbbbb.");
	limits.max_bytes = 950;
	limits.keep_free_bytes = 500;
	CHECK_STR(chosen(&choice, limits, 2000, 301), "bf........");
	CHECK_STR(chosen(&choice, limits, 2000, 500), "b.........");
}

/* Free space: what removing cannot bring about costs nothing but the room for what is recorded
 * anew. */
static void test_choice_for_space(void)
{
	_cleanup_(choice_done) struct retention_plan choice;
	struct store_limits limits = NO_LIMITS;

	choice_init(&choice);
	limits.keep_free_bytes = 5000;
	CHECK_STR(chosen(&choice, limits, 2000, 4100), "fffffffff.");
	CHECK(!choice.starved);
	CHECK_STR(chosen(&choice, limits, 2000, 4099), "..........");
	CHECK(choice.starved);
	/* it was less when the disk became full */
	hold = (struct retention_plan_hold){ 950, 950 + 4199 };
	CHECK_STR(chosen(&choice, limits, 2000, 4099), "h.........");
	/* and room came back */
	CHECK_STR(chosen(&choice, limits, 2000, 4999), "f.........");
	hold = (struct retention_plan_hold){ 0 };
	/* the next segment needs 200 */
	CHECK_STR(chosen(&choice, limits, 2000, 100), "h.........");
	CHECK_STR(chosen(&choice, limits, 2000, 0), "hh........");
	/* there was room for it, and others took that too */
	hold = (struct retention_plan_hold){ 1250, 1250 };
	CHECK_STR(chosen(&choice, limits, 2000, 0), "..........");
	/* half of it, and the rest is used */
	hold = (struct retention_plan_hold){ 1150, 1150 };
	CHECK_STR(chosen(&choice, limits, 2000, 0), "h.........");
	CHECK_STR(chosen(&choice, limits, 2000, 50), "h.........");
	CHECK_STR(chosen(&choice, limits, 2000, 100), "h.........");
	hold = (struct retention_plan_hold){ 0 };
	/* an hour costs a part of the store, not all */
	floor_bytes = 500;
	CHECK_STR(chosen(&choice, limits, 2000, 4450), "ffffff....");
	CHECK_STR(chosen(&choice, limits, 2000, 4449), "..........");
	CHECK(choice.starved);
	floor_bytes = 0;
	/* what is near an incident goes for bytes, and not for space that others took */
	pin(&choice, 0, 3, UINT64_MAX);
	limits.pin_ns = UINT64_MAX;
	CHECK_STR(chosen(&choice, limits, 2000, 4600), "pppffff...");
	CHECK_STR(chosen(&choice, limits, 2000, 4300), "ppp.......");
	CHECK(choice.starved);
}

/* Removes what was chosen; the bytes of the disk that it took. */
static uint64_t remove_chosen(struct retention_plan *choice)
{
	uint64_t bytes = 0;
	size_t kept = 0;

	for (size_t i = 0; i < choice->items.count; i++) {
		const struct retention_plan_item *item = &choice->items.items[i];

		bytes += item->why ? item->taken_bytes : 0;
		if (!item->why)
			choice->items.items[kept++] = *item;
	}
	choice->items.count = kept;
	return bytes;
}

/* Others leave nothing of the disk but what the store has, and segments take more of it than they
 * hold: there is room for each new one. */
static void test_choice_goes_on(void)
{
	static const struct store_limits limits = { UINT64_MAX, UINT64_MAX, 9000, 0, true, false };
	const uint64_t reach_bytes = 1660;
	_cleanup_(choice_done) struct retention_plan choice;
	uint64_t taken_bytes = 50;

	choice_init(&choice);
	for (size_t i = 0; i < choice.items.count; i++)
		taken_bytes += choice.items.items[i].taken_bytes = 150 + 10 * (i % 3);
	for (uint64_t i = 10; i < 200; i++) {
		uint64_t size = 100 + i * 7 % 50;
		const struct retention_plan_figures figures = {
			.bytes = 1050,
			.taken_bytes = taken_bytes,
			.free_bytes = reach_bytes - taken_bytes,
			.room_bytes = 2 * size,
			.hold = choice.hold,
		};

		CHECK(taken_bytes <= reach_bytes);
		retention_plan_make(&choice, &limits, &figures);
		CHECK(choice.starved);
		taken_bytes -= remove_chosen(&choice);
		CHECK(reach_bytes - taken_bytes >= 2 * size);
		/* nor more than that and what the oldest has too much */
		CHECK(reach_bytes - taken_bytes < 2 * size + 200);
		choice.items.items[choice.items.count - 1].keep = false;
		CHECK_EQ(array_push(&choice.items,
				    (struct retention_plan_item){
					    .begin_ns = (1000 + i) * NSEC_PER_SEC,
					    .end_ns = (1001 + i) * NSEC_PER_SEC,
					    .bytes = 90,
					    .taken_bytes = size,
					    .keep = true }),
			 0);
		taken_bytes += size;
	}
}

/* The wall clock goes ahead at once: by an eighth of the limit of age, at the most. */
static void test_choice_clock_ahead(void)
{
	_cleanup_(choice_done) struct retention_plan choice;
	struct store_limits limits = NO_LIMITS;

	choice_init(&choice);
	limits.age_by_clock = false;
	limits.max_age_ns = 4 * NSEC_PER_SEC;
	CHECK_STR(chosen(&choice, limits, 1010, 0), "aaaaa.....");
	CHECK_STR(chosen(&choice, limits, 1000000, 0), "aaaaaasss.");
	/* and so it is when more is recorded after that, with the wrong time or the right one */
	choice.items.items[9].begin_ns += 1000000 * NSEC_PER_SEC;
	choice.items.items[9].end_ns += 1000000 * NSEC_PER_SEC;
	CHECK_STR(chosen(&choice, limits, 1001010, 0), "aaaaaasss.");
	CHECK_STR(chosen(&choice, limits, 1010, 0), "aaaaa.....");
	/* one that spans the step itself is as long as it was recorded */
	choice.items.items[9].begin_ns -= 1000000 * NSEC_PER_SEC;
	CHECK_STR(chosen(&choice, limits, 1001010, 0), "aaaaassss.");
	/* who looks at the clock may believe it */
	limits.age_by_clock = true;
	CHECK_STR(chosen(&choice, limits, 1001010, 0), "aaaaaaaaa.");
}

static void test_choice_with_pins(void)
{
	_cleanup_(choice_done) struct retention_plan choice;
	struct store_limits limits = NO_LIMITS;

	choice_init(&choice);
	pin(&choice, 2, 4, UINT64_MAX); /* the third and the fourth */
	limits.max_age_ns = 3 * NSEC_PER_SEC;
	limits.pin_ns = 100 * NSEC_PER_SEC;
	CHECK_STR(chosen(&choice, limits, 1010, 0), "aaPPaa....");
	/* the third is beyond the age of pins too */
	CHECK_STR(chosen(&choice, limits, 1104, 0), "aaaPaaaaa.");
	limits.max_age_ns = UINT64_MAX;
	limits.max_bytes = 650;
	CHECK_STR(chosen(&choice, limits, 1010, 0), "bbppbb....");
	limits.max_bytes = 200;
	CHECK_STR(chosen(&choice, limits, 1010, 0), "bbbbbbbbb.");
	limits.max_bytes = 300;
	CHECK_STR(chosen(&choice, limits, 1010, 0), "bbbpbbbbb.");
	/* a pin of somebody's own, until 1050 s */
	choice.pins.count = 0;
	pin(&choice, 0, 1, 1050 * NSEC_PER_SEC);
	limits.max_bytes = 850;
	limits.pin_ns = 0;
	CHECK_STR(chosen(&choice, limits, 1049, 0), "pbb.......");
	CHECK_STR(chosen(&choice, limits, 1050, 0), "bb........");
}

/* The segment of that number: ten seconds. */
static void seal(struct store_writer *writer, unsigned int number)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(number * 10, number * 10 + 10);

	tape->sequence = number;
	tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 1, 1, "x"), 0);
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
}

/* Ten segments, and what they are kept by. They are of a time gone by, so the limits of age are
 * counted from there. */
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
	/* nothing could bring that about */
	CHECK_STR(ten_retain(&ten, false), "");
	CHECK(ten.retained.starved);
	CHECK_EQ(ten.retained.segments, 10);
	CHECK(store_space_describe(&ten.limits, &ten.retained, &error));
	CHECK(strstr(error.text, "it holds no more than"));
	/* a disk of that size could have it, others fill it */
	ten.limits.keep_free_bytes = ten.retained.disk_bytes - 1;
	CHECK_STR(ten_retain(&ten, false), "");
	CHECK(store_space_describe(&ten.limits, &ten.retained, &error));
	CHECK(strstr(error.text, "others the rest"));
	ten.limits.keep_free_bytes = 0;
	ten_retain(&ten, false);
	CHECK(!ten.retained.starved && !store_space_describe(&ten.limits, &ten.retained, &error));
}

/* An incident of the notes at 45 s that began at 34 s; pins reach ten minutes, so the segments lie
 * further apart here. */
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
		/* from -900 s on, five minutes each: the second to the fifth lie within ten minutes
		 */
		uint64_t begin_ns = TAPES_PERF + (i * 300) * NSEC_PER_SEC - 900 * NSEC_PER_SEC;
		_cleanup_(cleanup_tape) struct tape *tape =
			tapes_bare(begin_ns, begin_ns + 300 * NSEC_PER_SEC);

		tapes_anchor(tape, TAPES_PERF, TAPES_REALTIME);
		tape->sequence = i;
		CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
	}
	limits.max_age_ns = age_of(600);
	limits.pin_ns = UINT64_MAX;
	CHECK_STR(retain(writer, limits, true, &retained), "0 ");
	CHECK_EQ(retained.pinned, 4);
	limits.pin_ns = 0;
	CHECK_STR(retain(writer, limits, true, &retained), "0 1 2 3 4 ");
}

/* What cannot be read is as old as its file. */
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

/* A row of the index that is not what the file says does not take the file with it. */
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
	/* and then it is known as what it is: the eighth again */
	ten_retain(&ten, false);
	ten.limits.max_age_ns = age_of(95);
	CHECK_STR(ten_retain(&ten, false), "3 4 5 6 7 8 8 ");
}

/* Beside a writer, with an index and without: all is as before. */
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

/* Between two checkpoints the WAL would take the place of segments. */
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
	/* the same once more: a recorder that is started again and again */
	noted = notes_size(&store);
	CHECK_EQ(store_writer_note_limits(writer, &limits, NULL), 0);
	CHECK_EQ(notes_size(&store), noted);
	limits.pin_ns = 5;
	CHECK_EQ(store_writer_note_limits(writer, &limits, NULL), 0);
	CHECK(notes_size(&store) > noted);
	store_limits_default("not/yet/there", &back);
	CHECK(back.keep_free_bytes && back.keep_free_bytes <= STORE_KEEP_FREE_BYTES);
}

/* /proc takes no room, and what is above it does. */
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

CHECK_MAIN({ "chosen by age", test_choice_by_age }, { "chosen by room", test_choice_by_room },
	   { "chosen for free space", test_choice_for_space },
	   { "a full disk goes on", test_choice_goes_on },
	   { "a wall clock that went ahead", test_choice_clock_ahead },
	   { "what is pinned goes last", test_choice_with_pins }, { "removed by age", test_by_age },
	   { "removed by bytes and free space", test_by_bytes },
	   { "around an incident they stay", test_pins },
	   { "files that cannot be read", test_damaged_files },
	   { "a row that is wrong", test_wrong_row }, { "a dry run beside a writer", test_dry },
	   { "the WAL costs no segment", test_wal }, { "limits are remembered", test_limits },
	   { "the file system of a folder that is not there yet", test_folder_not_there_yet })
