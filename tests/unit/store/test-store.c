// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"
#include "tape/segment/segment.h"
#include "store/disk/files.h"
#include "store/read/store-reader.h"
#include "store/write/store-writer.h"

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

static uint64_t random_state = 42;

/* the ID of another boot; "" is that of this boot */
static const char *boot_id = "11111111-2222-3333-4444-555555555555";

static uint32_t pick(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % below;
}

static uint32_t add_string(struct tape *tape, const char *text)
{
	uint32_t id;

	CHECK_EQ(strings_add(&tape->strings, text, strlen(text), &id), 0);
	return id;
}

static void fill_dictionary(struct tape *tape)
{
	char text[32];
	uint32_t id;

	for (int i = 0; i < 5; i++) {
		struct tape_module module = { .kind = TAPE_MODULE_ELF, .inode = i };

		snprintf(text, sizeof(text), "/usr/lib/lib%d.so", i);
		module.path = add_string(tape, text);
		module.build_id_size = i % 2 ? 20 : 0;
		memset(module.build_id, i % 2 ? i : 0, 20);
		CHECK_EQ(tape_add_module(tape, &module, &id), 0);
	}
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(tape_add_frame(tape, 1 + pick(5), pick(1000), &id), 0);
		snprintf(text, sizeof(text), "function_%u", pick(30));
		tape->frames.items[id].symbol = add_string(tape, text);
		tape->frames.items[id].offset = pick(100);
	}
	for (int i = 0; i < 200; i++)
		CHECK_EQ(tape_add_stack(tape, pick(tape->stacks.count), pick(tape->frames.count),
					&id),
			 0);
	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "comm%u", pick(4));
		CHECK_EQ(tape_add_thread(
				 tape, &(struct tape_thread){ i / 2, i, add_string(tape, text), 0 },
				 &id),
			 0);
	}
}

/*
 * Makes a tape that covers [begin, begin + 10 s) of the perf clock. The wall clock is `offset`
 * ahead.
 */
static struct tape *make_tape(uint64_t begin_ns, uint64_t offset, int samples)
{
	struct tape *tape;

	CHECK_EQ(tape_new(&tape), 0);
	tape->begin_ns = begin_ns;
	tape->end_ns = begin_ns + 10 * NSEC_PER_SEC;
	fill_dictionary(tape);
	CHECK_EQ(tape_add_fact(tape, "boot_id", boot_id), 0);
	CHECK_EQ(tape_add_fact(tape, "host", "example"), 0);
	for (int i = 0; i <= 10; i++)
		array_push(
			&tape->anchors,
			(struct tape_anchor){ .perf_ns = begin_ns + i * NSEC_PER_SEC,
					      .realtime_ns = begin_ns + offset + i * NSEC_PER_SEC,
					      .error_ns = 900 });
	for (int i = 0; i < samples; i++)
		array_push(&tape->samples,
			   (struct tape_sample){ .time_ns = begin_ns +
							    pick(10 * NSEC_PER_SEC / 4) * 4ull,
						 .cpu = pick(4),
						 .thread = pick(tape->threads.count),
						 .stack = pick(tape->stacks.count),
						 .frame = pick(tape->frames.count),
						 .period = 10309278 });
	array_push(&tape->losses,
		   (struct tape_loss){ TAPE_LOSS_SAMPLES, 3, begin_ns, begin_ns + 5, 17 });
	array_push(&tape->losses,
		   (struct tape_loss){ TAPE_LOSS_THROTTLED, 1, begin_ns + 9, begin_ns + 99, 1 });
	return tape;
}

static void test_sort_is_stable(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 1, 0);

	for (uint32_t i = 0; i < 5000; i++)
		array_push(&tape->samples, (struct tape_sample){ .time_ns = pick(300), .cpu = i });
	CHECK_EQ(tape_sort_samples(tape), 0);
	for (size_t i = 1; i < tape->samples.count; i++) {
		const struct tape_sample *a = &tape->samples.items[i - 1], *b = a + 1;

		CHECK(a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->cpu < b->cpu));
	}
}

static void test_time_slews(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 1000, 0);
	uint64_t error_ns;

	/* 500 us per second, as NTP slews */
	for (size_t i = 0; i < tape->anchors.count; i++)
		tape->anchors.items[i].realtime_ns += i * 500000;
	CHECK_EQ(tape_to_realtime(tape, 3500000000, &error_ns), 3500001000 + 1750000);
	CHECK_EQ(error_ns, 900);
	/* between two anchors, the errors of both count */
	tape->anchors.items[4].error_ns = 5000;
	tape_to_realtime(tape, 3500000000, &error_ns);
	CHECK_EQ(error_ns, 5000);
	tape_to_realtime(tape, 3000000000, &error_ns);
	CHECK_EQ(error_ns, 900);
	CHECK_EQ(tape_to_realtime(tape, 12 * NSEC_PER_SEC, NULL),
		 12 * NSEC_PER_SEC + 1000 + 5000000);
}

static void test_time_steps(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 100 * NSEC_PER_SEC, 0);

	/* the wall clock is set 3 s ahead between the anchors at 4 s and 5 s */
	for (size_t i = 5; i < tape->anchors.count; i++)
		tape->anchors.items[i].realtime_ns += 3 * NSEC_PER_SEC;
	CHECK_EQ(tape_to_realtime(tape, 4900000000, NULL), 104900000000);
	CHECK_EQ(tape_to_realtime(tape, 5000000000, NULL), 108000000000);
}

/*
 * The wall clock is set back by an hour in the middle. The summary spans both hours, so a window in
 * either finds the segment.
 */
static void test_summary_of_a_clock_set_back(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 7200 * NSEC_PER_SEC, 0);
	struct segment_summary summary;

	for (size_t i = 5; i < tape->anchors.count; i++)
		tape->anchors.items[i].realtime_ns -= 3600 * NSEC_PER_SEC;
	segment_summarize(tape, &summary);
	CHECK_EQ(summary.begin_ns, 3605 * NSEC_PER_SEC);
	CHECK_EQ(summary.end_ns, 7205 * NSEC_PER_SEC - 1);
}

static void remove_tree(const char *path)
{
	char command[512];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	CHECK_EQ(system(command), 0);
}

static void make_dir(char path[64])
{
	strcpy(path, "/tmp/perftape test.XXXXXX");
	CHECK(mkdtemp(path));
}

static void seal(struct store_writer *writer, uint64_t begin_ns)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	const char *other = boot_id;
	struct error error = { 0 };

	boot_id = "";
	tape = make_tape(begin_ns, 1000 * NSEC_PER_SEC, 100);
	boot_id = other;
	tape->sequence = store_writer_number(writer);
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), 0);
}

static void test_store_seal_and_find(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct store_segments found = { 0 };
	struct error error = { 0 };
	uint64_t before, after;
	char dir[64];

	make_dir(dir);
	CHECK_EQ(store_reader_open(dir, &reader, &error), -ENOENT);
	CHECK_EQ(store_writer_open(dir, &writer, &error), 0);
	for (int i = 0; i < 5; i++)
		seal(writer, i * 10 * NSEC_PER_SEC);
	CHECK_EQ(store_reader_open(dir, &reader, &error), 0);
	CHECK_EQ(
		store_reader_find(reader, 1015 * NSEC_PER_SEC, 1030 * NSEC_PER_SEC, &found, &error),
		0);
	CHECK_EQ(found.list.count, 2);
	CHECK_EQ(found.list.items[0].begin_ns, 1010 * NSEC_PER_SEC);
	CHECK_EQ(found.list.items[0].samples, 100);
	CHECK_EQ(found.list.items[0].lost, 17);
	CHECK_EQ(found.list.items[1].sequence, found.list.items[0].sequence + 1);
	CHECK_EQ(store_reader_load(reader, &found.list.items[0], &everything, &tape, &error), 0);
	CHECK_EQ(tape->samples.count, 100);
	CHECK_EQ(store_reader_near(reader, 0, 900 * NSEC_PER_SEC, &before, &after, &error), 0);
	CHECK_EQ(before, 0);
	CHECK_EQ(after, 1000 * NSEC_PER_SEC);
	CHECK_EQ(store_reader_near(reader, UINT64_MAX, UINT64_MAX, &before, &after, &error), 0);
	CHECK_EQ(before, 1050 * NSEC_PER_SEC);
	CHECK_EQ(after, 0);
	array_done(&found.list);
	remove_tree(dir);
}

static void test_one_writer(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL, *second = NULL;
	struct error error = { 0 };
	char dir[64], pid[32];

	make_dir(dir);
	CHECK_EQ(store_writer_open(dir, &writer, &error), 0);
	CHECK_EQ(store_writer_open(dir, &second, &error), -EBUSY);
	snprintf(pid, sizeof(pid), "process %d ", getpid());
	CHECK(strstr(error.text, pid));
	writer = store_writer_close(writer);
	CHECK_EQ(store_writer_open(dir, &second, &error), 0);
	remove_tree(dir);
}

/* A snapshot of a store is a file, to which perftape cannot add anything. */
static void test_file_for_a_folder(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct error error = { 0 };
	char dir[64], file[80];

	make_dir(dir);
	snprintf(file, sizeof(file), "%s/x.tape", dir);
	fclose(fopen(file, "w"));
	CHECK_EQ(store_writer_open(file, &writer, &error), -ENOTDIR);
	CHECK(strstr(error.text, "x.tape: it is a file, not a store; give a folder"));
	remove_tree(dir);
}

/* The index is a cache: if it is lost or outdated, the next open rebuilds it. */
static void test_index_follows_the_folder(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments found = { 0 };
	struct error error = { 0 };
	char dir[64], command[512];

	make_dir(dir);
	CHECK_EQ(store_writer_open(dir, &writer, &error), 0);
	for (int i = 0; i < 3; i++)
		seal(writer, i * 10 * NSEC_PER_SEC);
	writer = store_writer_close(writer);
	snprintf(command, sizeof(command),
		 "cd '%s' && rm index.sqlite* && rm segments/*-0000000001.tape && echo half > "
		 "segments/.x.tape.new",
		 dir);
	CHECK_EQ(system(command), 0);
	CHECK_EQ(store_writer_open(dir, &writer, &error), 0);
	CHECK_EQ(store_reader_open(dir, &reader, &error), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &found, &error), 0);
	CHECK_EQ(found.list.count, 2);
	array_done(&found.list);
	seal(writer, 50 * NSEC_PER_SEC);
	found.list.count = 0;
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &found, &error), 0);
	CHECK_EQ(found.list.count, 3);
	CHECK_EQ(found.list.items[2].sequence, 3);
	array_done(&found.list);
	remove_tree(dir);
}

static void finds_nothing(void *context, const char *file, const char *what)
{
	CHECK_FAIL("%s: %s", file, what);
}

static void check_index(const char *dir)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_verified verified;
	char file[128];

	snprintf(file, sizeof(file), "%s/index.sqlite", dir);
	CHECK_EQ(access(file, F_OK), 0);
	CHECK_EQ(store_reader_open(dir, &reader, NULL), 0);
	CHECK_EQ(store_reader_verify(reader, finds_nothing, NULL, NULL, &verified, NULL), 0);
	CHECK_EQ(verified.stale, 0);
}

/*
 * The index can be deleted at any time, also while a writer runs, with or without its other files.
 * The next seal rebuilds it.
 */
static void test_index_removed_meanwhile(void)
{
	static const char *const files[] = { "index.sqlite", "index.sqlite*" };
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	char dir[64], command[512];

	make_dir(dir);
	CHECK_EQ(store_writer_open(dir, &writer, NULL), 0);
	seal(writer, 0);
	check_index(dir);
	for (int i = 0; i < 4; i++) {
		snprintf(command, sizeof(command), "cd '%s' && rm %s", dir, files[i % 2]);
		CHECK_EQ(system(command), 0);
		seal(writer, (10 + i * 10) * NSEC_PER_SEC);
		check_index(dir);
	}
	remove_tree(dir);
}

/*
 * An imported tape keeps its own number, and a second import of the same tape replaces the first.
 */
static void test_tapes_of_another_boot(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 1000 * NSEC_PER_SEC, 10);
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments found = { 0 };
	struct error error = { 0 };
	char dir[64];

	make_dir(dir);
	CHECK_EQ(store_writer_open(dir, &writer, &error), 0);
	tape->sequence = 7;
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), 0);
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), 0);
	CHECK_EQ(store_reader_open(dir, &reader, &error), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &found, &error), 0);
	CHECK_EQ(found.list.count, 1);
	CHECK_STR(found.list.items[0].name, "11111111-2222-3333-4444-555555555555-0000000007.tape");
	CHECK_EQ(store_writer_imported(writer, "x"), 0);
	CHECK_EQ(store_writer_note_import(writer, "x", "perf.data\n", &error), 0);
	CHECK_EQ(store_writer_imported(writer, "x"), 1);
	array_done(&found.list);
	remove_tree(dir);
}

static void test_damaged_segment_is_named(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct store_segments found = { 0 };
	struct error error = { 0 };
	char dir[64], path[512];
	int fd;

	make_dir(dir);
	CHECK_EQ(store_writer_open(dir, &writer, &error), 0);
	seal(writer, 0);
	CHECK_EQ(store_reader_open(dir, &reader, &error), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &found, &error), 0);
	snprintf(path, sizeof(path), "%s/segments/%s", dir, found.list.items[0].name);
	fd = open(path, O_WRONLY);
	CHECK_EQ(pwrite(fd, "\xff\xff\xff\xff", 4, found.list.items[0].bytes / 2), 4);
	close(fd);
	CHECK_EQ(store_reader_load(reader, &found.list.items[0], &everything, &tape, &error),
		 -EBADMSG);
	CHECK(strstr(error.text, found.list.items[0].name));
	CHECK(strstr(error.text, "checksum"));
	array_done(&found.list);
	remove_tree(dir);
}

/* A folder of a user stays as it is, including the list of its files. */
static void test_folder_of_others(void)
{
	struct store_writer *writer = NULL;
	struct store_reader *reader = NULL;
	struct error error = { 0 };
	char dir[64], path[128];

	make_dir(dir);
	snprintf(path, sizeof(path), "%s/lost+found", dir);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(store_check_folder(dir, &error), 0);
	CHECK_EQ(file_replace(dir, "letter", "dear", 4), 0);
	CHECK_EQ(store_writer_open(dir, &writer, &error), -ENOTEMPTY);
	CHECK(strstr(error.text, "is not a store: it holds other things, such as letter"));
	CHECK_EQ(store_reader_open(dir, &reader, &error), -ENOENT);
	CHECK(strstr(error.text, "is not a store") && !strstr(error.text, "record"));
	snprintf(path, sizeof(path), "%s/segments", dir);
	CHECK(access(path, F_OK) < 0);
	/* a store with additional files of a user is still a store */
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(store_writer_open(dir, &writer, &error), 0);
	store_writer_close(writer);
	remove_tree(dir);
}

CHECK_MAIN({ "samples are sorted, and equal times keep their order", test_sort_is_stable },
	   { "times follow a slewed clock", test_time_slews },
	   { "times follow a clock that was set", test_time_steps },
	   { "a clock that was set back", test_summary_of_a_clock_set_back },
	   { "a sealed tape is found and loaded", test_store_seal_and_find },
	   { "a store has one writer", test_one_writer },
	   { "a file is not a store to write to", test_file_for_a_folder },
	   { "a folder of other things is not a store", test_folder_of_others },
	   { "the index follows the folder", test_index_follows_the_folder },
	   { "a deleted index is rebuilt", test_index_removed_meanwhile },
	   { "tapes of another boot keep their numbers", test_tapes_of_another_boot },
	   { "a damaged segment is named", test_damaged_segment_is_named })
