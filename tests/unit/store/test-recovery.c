// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tapes that are not sealed yet: readers see them live, and the next writer seals the tapes that an
 * earlier writer left.
 */
#include "tests/check.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "base/file.h"
#include "tape/segment/contents.h"
#include "tests/random-tape.h"
#include "tests/made-spools.h"

#define AT(seconds) (TAPES_REALTIME + (seconds)*NSEC_PER_SEC)

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

static struct store_writer *open_writer(const struct tapes_store *store)
{
	struct store_writer *writer;
	struct error error = { 0 };

	if (store_writer_open(store->path, &writer, &error) < 0)
		CHECK_FAIL("%s", error.text);
	return writer;
}

/*
 * Leaves the store as a killed writer does: `seconds` of one tape are in the spool, and nothing is
 * sealed.
 */
static void leave_spool(const struct tapes_store *store, unsigned int seconds)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = open_writer(store);
	_cleanup_(spooling_done) struct spooling spooling;

	spooling_init(&spooling, store_writer_number(writer), 0);
	for (unsigned int i = 0; i < seconds; i++)
		CHECK_EQ(spooling_put(&spooling, writer), 0);
}

/* The part of the only tape that a reader finds, sealed or not. */
struct found {
	size_t count;
	struct store_segment segment;
	size_t samples;
	/* losses */
	uint64_t damaged;
	int loaded;
};

static struct found look(const struct tapes_store *store)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct store_segments segments = { 0 };
	struct error error = { 0 };
	struct found found = { 0 };

	if (store_reader_open(store->path, &reader, &error) < 0 ||
	    store_reader_find(reader, 0, UINT64_MAX, &segments, &error) < 0)
		CHECK_FAIL("%s", error.text);
	found.count = segments.list.count;
	if (found.count) {
		found.segment = segments.list.items[0];
		found.loaded =
			store_reader_load(reader, &found.segment, &everything, &tape, &error);
	}
	array_done(&segments.list);
	if (!tape)
		return found;
	found.samples = tape->samples.count;
	for (size_t i = 0; i < tape->losses.count; i++)
		found.damaged += tape->losses.items[i].kind == TAPE_LOSS_DAMAGED;
	return found;
}

static int seal_it(void *context, struct store_writer *writer, struct tape *tape)
{
	++*(int *)context;
	return store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL);
}

static struct store_recovered recover(const struct tapes_store *store, int expected)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = open_writer(store);
	struct store_recovered recovered;
	struct error error = { 0 };
	int sealed = 0;

	if (store_writer_recover(writer, seal_it, &sealed, &recovered, &error) < 0)
		CHECK_FAIL("%s", error.text);
	CHECK_EQ(sealed, expected);
	CHECK_EQ(recovered.tapes, expected);
	return recovered;
}

static void spool_path(const struct tapes_store *store, char path[256])
{
	char command[256];
	FILE *list;

	snprintf(command, sizeof(command), "ls '%s'/spool/*", store->path);
	list = popen(command, "r");
	CHECK(list && fgets(path, 256, list));
	pclose(list);
	path[strcspn(path, "\n")] = 0;
}

static size_t count_files(const struct tapes_store *store, const char *pattern)
{
	char command[256], number[32];
	FILE *count;

	snprintf(command, sizeof(command), "find '%s' -path '%s' -type f | wc -l", store->path,
		 pattern);
	count = popen(command, "r");
	CHECK(count && fgets(number, sizeof(number), count));
	pclose(count);
	return atoi(number);
}

static void test_live(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(spooling_done) struct spooling spooling;
	struct found found;

	tapes_store_init(&store);
	writer = open_writer(&store);
	spooling_init(&spooling, store_writer_number(writer), 0);
	for (unsigned int i = 1; i < 4; i++) {
		CHECK_EQ(spooling_put(&spooling, writer), 0);
		found = look(&store);
		CHECK_EQ(found.count, 1);
		CHECK(found.segment.unsealed);
		CHECK_EQ(found.segment.begin_ns, AT(0));
		CHECK_EQ(found.segment.end_ns, AT(i));
		CHECK_EQ(found.samples, 4 * i);
	}
	CHECK_EQ(store_writer_seal(writer, spooling.tape, SEGMENT_HASTY, NULL, NULL), 0);
	/* a block from another thread may come too late */
	CHECK_EQ(spooling_put(&spooling, writer), 0);
	found = look(&store);
	CHECK_EQ(found.count, 1);
	CHECK(!found.segment.unsealed);
	CHECK_EQ(found.samples, 12);
	CHECK_EQ(count_files(&store, "*/spool/*"), 0);
}

static void test_forget(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(spooling_done) struct spooling spooling;

	tapes_store_init(&store);
	writer = open_writer(&store);
	spooling_init(&spooling, store_writer_number(writer), 0);
	CHECK_EQ(spooling_put(&spooling, writer), 0);
	store_writer_forget(writer, spooling.tape->sequence);
	store_writer_forget(writer, 77);
	CHECK_EQ(look(&store).count, 0);
	CHECK_EQ(count_files(&store, "*/spool/*"), 0);
}

static void test_recover(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_recovered recovered;
	struct found found;

	tapes_store_init(&store);
	leave_spool(&store, 5);
	leave_spool(&store, 3);
	CHECK_EQ(look(&store).count, 2);
	recovered = recover(&store, 2);
	CHECK_EQ(recovered.samples, 32);
	CHECK_EQ(recovered.damaged, 0);
	CHECK_EQ(recovered.begin_ns, AT(0));
	CHECK_EQ(recovered.end_ns, AT(5));
	CHECK_EQ(count_files(&store, "*/spool/*"), 0);
	recover(&store, 0);
	found = look(&store);
	CHECK_EQ(found.count, 2);
	CHECK(!found.segment.unsealed);
}

/* Truncates the last block of a spool. */
static void tear(const struct tapes_store *store)
{
	struct stat about;
	char path[256];

	spool_path(store, path);
	CHECK_EQ(stat(path, &about), 0);
	CHECK_EQ(truncate(path, about.st_size - 3), 0);
}

/* While the writer of a truncated block still runs, it may still write the rest. */
static void test_being_torn(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(spooling_done) struct spooling spooling;

	tapes_store_init(&store);
	writer = open_writer(&store);
	spooling_init(&spooling, store_writer_number(writer), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(spooling_put(&spooling, writer), 0);
	tear(&store);
	CHECK_EQ(look(&store).samples, 8);
	CHECK_EQ(look(&store).damaged, 0);
	writer = store_writer_close(writer);
	CHECK_EQ(look(&store).damaged, 1);
}

/*
 * The writer was killed within a block. Nobody else writes the rest of this block, not even a new
 * recording.
 */
static void test_torn(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_recovered recovered;
	struct found found;

	tapes_store_init(&store);
	leave_spool(&store, 3);
	tear(&store);
	found = look(&store);
	CHECK_EQ(found.samples, 8);
	CHECK_EQ(found.damaged, 1);
	CHECK(found.segment.end_ns > AT(2));
	writer = open_writer(&store);
	CHECK_EQ(look(&store).damaged, 1);
	writer = store_writer_close(writer);
	recovered = recover(&store, 1);
	CHECK_EQ(recovered.damaged, 1);
	CHECK_EQ(recovered.samples, 8);
	CHECK_EQ(look(&store).damaged, 1);
}

static void test_unreadable(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_recovered recovered;
	struct found found;
	char path[256];
	FILE *file;

	tapes_store_init(&store);
	leave_spool(&store, 1);
	spool_path(&store, path);
	file = fopen(path, "w");
	CHECK(file && fputs("junk", file) >= 0);
	fclose(file);
	found = look(&store);
	CHECK_EQ(found.count, 1);
	CHECK(*found.segment.damage);
	CHECK_EQ(found.loaded, -EBADMSG);
	recovered = recover(&store, 0);
	CHECK_EQ(recovered.damaged, 1);
	CHECK_EQ(count_files(&store, "*/spool/*.spool.damaged"), 1);
	/* the spool is still listed, but the store does not try to seal it again */
	CHECK(*look(&store).segment.damage);
	recovered = recover(&store, 0);
	CHECK_EQ(recovered.damaged, 0);
}

/* A copy of a spool in an earlier state, whose tape has been sealed since. */
static void test_copied(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	char command[512], path[256];

	tapes_store_init(&store);
	leave_spool(&store, 2);
	spool_path(&store, path);
	snprintf(command, sizeof(command), "p='%s'; cp \"$p\" \"${p%%.spool}-copy.spool\"", path);
	CHECK_EQ(system(command), 0);
	CHECK_EQ(truncate(path, 0), 0);
	CHECK_EQ(recover(&store, 0).damaged, 1);
	CHECK_EQ(count_files(&store, "*/spool/*.spool.damaged"), 1);
	CHECK_EQ(count_files(&store, "*/segments/*.tape"), 0);
}

/* The spool can never become a segment, so no later start tries to seal it again. */
static void test_without_anchor(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_recovered recovered;

	tapes_store_init(&store);
	{
		_cleanup_(cleanup_store_writer) struct store_writer *writer = open_writer(&store);
		_cleanup_(spooling_done) struct spooling spooling;

		spooling_init(&spooling, store_writer_number(writer), 0);
		spooling.tape->anchors.count = 0;
		CHECK_EQ(spooling_put(&spooling, writer), 0);
	}
	leave_spool(&store, 2);
	CHECK_EQ(look(&store).count, 2);
	recovered = recover(&store, 1);
	CHECK_EQ(recovered.damaged, 1);
	CHECK_EQ(recovered.samples, 8);
	CHECK_EQ(count_files(&store, "*/spool/*.spool.damaged"), 1);
	CHECK_EQ(count_files(&store, "*/spool/*"), 1);
	recovered = recover(&store, 0);
	CHECK_EQ(recovered.damaged, 0);
}

/*
 * A spool that cannot be read at present, such as a link to itself, does not stop the recovery of
 * later spools.
 */
static void test_unreadable_now(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_recovered recovered = { 0 };
	struct error error = { 0 };
	char command[512];
	int sealed = 0;

	tapes_store_init(&store);
	leave_spool(&store, 2);
	leave_spool(&store, 3);
	snprintf(command, sizeof(command),
		 "cd '%s/spool' && ln -s a-1.spool a-1.spool && touch -h -d 2000-01-01 a-1.spool",
		 store.path);
	CHECK_EQ(system(command), 0);
	writer = open_writer(&store);
	CHECK_EQ(store_writer_recover(writer, seal_it, &sealed, &recovered, &error), -ELOOP);
	CHECK(strstr(error.text, "a-1.spool"));
	CHECK_EQ(sealed, 2);
	CHECK_EQ(recovered.tapes, 2);
	CHECK_EQ(recovered.samples, 20);
	CHECK_EQ(recovered.unread, 1);
	CHECK_EQ(count_files(&store, "*/spool/*"), 0);
}

/*
 * The writer was killed after it wrote the segment and before it removed the spool. The segment
 * counts unless it is damaged.
 */
static void test_sealed_already(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	char command[512];
	struct found found;

	tapes_store_init(&store);
	leave_spool(&store, 3);
	snprintf(command, sizeof(command), "cp -a '%s'/spool/. '%s'/kept", store.path, store.path);
	CHECK_EQ(system(command), 0);
	recover(&store, 1);
	snprintf(command, sizeof(command), "cp -a '%s'/kept/. '%s'/spool", store.path, store.path);
	CHECK_EQ(system(command), 0);
	found = look(&store);
	CHECK_EQ(found.count, 1);
	CHECK(!found.segment.unsealed);
	recover(&store, 0);
	CHECK_EQ(count_files(&store, "*/spool/*"), 0);
	CHECK_EQ(system(command), 0);
	snprintf(command, sizeof(command), "cd '%s/segments' && for f in *; do : > $f; done",
		 store.path);
	CHECK_EQ(system(command), 0);
	found = look(&store);
	CHECK_EQ(found.count, 1);
	CHECK(found.segment.unsealed);
	CHECK_EQ(found.samples, 12);
	recover(&store, 1);
	CHECK_EQ(look(&store).samples, 12);
}

/* Makes a segment with an unknown section that a reader must know to read the segment. */
static void make_newer(const struct tapes_store *store, const struct tape *tape)
{
	_cleanup_(buffer_done) struct buffer plain = { 0 }, bytes = { 0 };
	struct contents_entry entry = { .name = "tastes", .flags = CONTENTS_INCOMPATIBLE };
	struct contents contents = { 0 };
	struct segment_input input;
	size_t first;

	CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, 1 << 20, &plain), 0);
	input = segment_input_memory(plain.data, plain.size);
	CHECK_EQ(contents_read(&contents, &input, NULL), 0);
	first = contents.entries.items[0].offset;
	CHECK_EQ(array_push(&contents.entries, entry), 0);
	contents_encode(&contents, &bytes);
	buffer_bytes(&bytes, plain.data + first, plain.size - first);
	contents_done(&contents);
	CHECK_EQ(file_replace(store->path, "newer", bytes.data, bytes.size), 0);
}

/*
 * After a return to an older perftape, the segment of the newer one stays, and recording goes on.
 */
static void test_sealed_by_a_newer_one(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = small_tape();
	_cleanup_(tapes_store_done) struct tapes_store store;
	char command[512];

	tapes_store_init(&store);
	leave_spool(&store, 2);
	CHECK(tape->incidents.count);
	make_newer(&store, tape);
	snprintf(command, sizeof(command),
		 "cd '%s' && mv newer segments/$(basename spool/*.spool .spool).tape", store.path);
	CHECK_EQ(system(command), 0);
	recover(&store, 0);
	CHECK_EQ(look(&store).loaded, -EPROTONOSUPPORT);
	CHECK_EQ(count_files(&store, "*/spool/*"), 0);
}

/* A reader lists the tape, then the tape is sealed, then the reader loads it. */
static void test_sealed_meanwhile(void)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_tape) struct tape *first = NULL, *second = NULL, *third = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_segments segments = { 0 };

	tapes_store_init(&store);
	leave_spool(&store, 3);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &segments, NULL), 0);
	recover(&store, 1);
	CHECK_EQ(store_reader_load(reader, segments.list.items, &everything, &first, NULL), 0);
	CHECK_EQ(first->samples.count, 12);
	/* the second load reads from the disk */
	CHECK_EQ(store_reader_load(reader, segments.list.items, &everything, &second, NULL), 0);
	CHECK_EQ(second->samples.count, 12);
	CHECK(!second->unsealed);
	CHECK_EQ(tapes_remove_all(&store, "segments"), 0);
	CHECK_EQ(store_reader_load(reader, segments.list.items, &everything, &third, NULL),
		 -ENOENT);
	array_done(&segments.list);
}

struct order {
	uint64_t numbers[3];
	size_t count;
};

static int note_order(void *context, struct store_writer *writer, struct tape *tape)
{
	struct order *order = context;

	(void)writer;
	CHECK(order->count < ARRAY_SIZE(order->numbers));
	order->numbers[order->count++] = tape->sequence;
	return 0;
}

/* The oldest spool is sealed first, by the nanosecond of its last change. */
static void test_order(void)
{
	static const struct timespec times[] = { { 10, 500 }, { 10, 200 }, { 9, 900 } };
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_recovered recovered;
	struct order order = { 0 };
	char path[PATH_MAX];

	tapes_store_init(&store);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		leave_spool(&store, 1);
	writer = open_writer(&store);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		char name[64];

		CHECK_EQ(store_name(writer->boot_id, i, STORE_SPOOL_SUFFIX, name), 0);
		CHECK(snprintf(path, sizeof(path), "%s/%s", writer->spools, name) <
		      (int)sizeof(path));
		CHECK_EQ(utimensat(AT_FDCWD, path, (struct timespec[]){ times[i], times[i] }, 0),
			 0);
	}
	CHECK_EQ(store_writer_recover(writer, note_order, &order, &recovered, NULL), 0);
	CHECK_EQ(order.count, 3);
	CHECK_EQ(order.numbers[0], 2);
	CHECK_EQ(order.numbers[1], 1);
	CHECK_EQ(order.numbers[2], 0);
}

/* New numbers are above those of segments, of spools, and of removed segments. */
static void test_numbers(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_writer *writer;
	char command[512];

	tapes_store_init(&store);
	leave_spool(&store, 1); /* 0 */
	writer = open_writer(&store);
	CHECK_EQ(store_writer_number(writer), 1);
	CHECK_EQ(store_writer_number(writer), 2);
	store_writer_close(writer);
	CHECK_EQ(tapes_remove_all(&store, "spool"), 0);
	writer = open_writer(&store);
	CHECK_EQ(store_writer_number(writer), 3);
	store_writer_close(writer);
	/* if the lock file does not state the number, it is above those of the files */
	leave_spool(&store, 1); /* 4 */
	CHECK_EQ(tapes_remove_all(&store, "lock"), 0);
	writer = open_writer(&store);
	CHECK_EQ(store_writer_number(writer), 5);
	store_writer_close(writer);
	/* the largest possible number cannot be one of ours */
	snprintf(command, sizeof(command),
		 "cd '%s/segments' && : > \"$(cat "
		 "/proc/sys/kernel/random/boot_id)-18446744073709551615.tape\"",
		 store.path);
	CHECK_EQ(system(command), 0);
	writer = open_writer(&store);
	CHECK_EQ(store_writer_number(writer), 6);
	store_writer_close(writer);
}

CHECK_MAIN({ "readers see the spool live", test_live },
	   { "a tape that is unsaved leaves nothing", test_forget },
	   { "a leftover spool is sealed", test_recover }, { "a torn end is dropped", test_torn },
	   { "a copy with another name is not sealed again", test_copied },
	   { "an end that is being written is not torn", test_being_torn },
	   { "a spool that cannot be read", test_unreadable },
	   { "a spool without an anchor", test_without_anchor },
	   { "a spool that cannot be read now", test_unreadable_now },
	   { "a spool whose segment exists", test_sealed_already },
	   { "a spool that a newer perftape sealed", test_sealed_by_a_newer_one },
	   { "a spool that is sealed while it is read", test_sealed_meanwhile },
	   { "the oldest spool is sealed first", test_order }, { "numbers go on", test_numbers })
