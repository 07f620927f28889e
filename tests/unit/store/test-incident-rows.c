// SPDX-License-Identifier: GPL-2.0-only
/* Incidents in segments, notes and the spool; the size of a store; and a store in one file. */
#include "tests/check.h"

#include <fcntl.h>
#include <sys/file.h>

#include "store/disk/incident-notes.h"
#include "store/read/log-resume.h"
#include "store/disk/notes.h"
#include "tests/made-spools.h"

#define BOOT "11111111-2222-3333-4444-555555555555"
#define AT(seconds) (TAPES_REALTIME + (seconds)*NSEC_PER_SEC)

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

/*
 * Makes a tape of ten seconds with a sample each second. An incident is in the middle; its stall
 * began with the tape.
 */
static struct tape *tape_with(unsigned int begin, const char *incident)
{
	struct tape *tape = tapes_new(begin, begin + 10);

	for (unsigned int i = 0; i < 10; i++)
		tapes_sample(tape, tape->begin_ns + i * NSEC_PER_SEC, 0,
			     tapes_thread(tape, 1, 1, "x"), 0);
	tape->sequence = begin / 10;
	if (incident)
		CHECK_EQ(array_push(&tape->incidents,
				    (struct tape_incident){
					    .time_ns = tape->begin_ns + 5 * NSEC_PER_SEC,
					    .stall_ns = tape->begin_ns,
					    .kind = tapes_string(tape, "ena_reset"),
					    .severity = 3,
					    .text = tapes_string(tape, incident),
					    .source = tapes_string(tape, "kmsg"),
				    }),
			 0);
	return tape;
}

static void put(struct store_writer *writer, unsigned int begin, const char *incident)
{
	_cleanup_(cleanup_tape) struct tape *tape = tape_with(begin, incident);

	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
}

struct told {
	size_t stop_at;
	size_t count;
	char text[1024];
};

static int tell(void *context, const struct store_incident *incident)
{
	struct told *told = context;
	size_t at = strlen(told->text);

	snprintf(told->text + at, sizeof(told->text) - at, "%lld-%lld %s %u %s %.60s\n",
		 (long long)(incident->stall_ns - TAPES_REALTIME) / 1000000000,
		 (long long)(incident->time_ns - TAPES_REALTIME) / 1000000000, incident->kind,
		 incident->severity, incident->text,
		 strlen(incident->segment) > 37 ? incident->segment + 37 : incident->segment);
	return ++told->count == told->stop_at ? -EINTR : 0;
}

static const char *told_of(const char *path, uint64_t from_ns, uint64_t to_ns)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	static struct told told;
	struct error error = { 0 };

	told = (struct told){ 0 };
	if (store_reader_open(path, &reader, &error) < 0 ||
	    store_reader_incidents(reader, from_ns, to_ns, tell, &told, &error) < 0)
		CHECK_FAIL("%s", error.text);
	return told.text;
}

static void add_note(const struct tapes_store *store, unsigned int second)
{
	const struct notes_field fields[] = {
		{ "kind", "oom" },
		{ "severity", "2" },
		{ "text", "from a file" },
		{ "stall_ns", "1794971521000000000" },
	};
	const struct note note = { NOTES_INCIDENT, AT(second), fields, ARRAY_SIZE(fields) };

	CHECK_EQ(notes_append(store->path, &note, NULL), 0);
}

#define FIRST "0-5 ena_reset 3 one 0000000000.tape\n"
#define NOTED "1-12 oom 2 from a file \n"
#define THIRD "20-25 ena_reset 3 three 0000000002.tape\n"

static struct store_writer *make_store(struct tapes_store *store)
{
	struct store_writer *writer;

	tapes_store_init(store);
	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	put(writer, 20, "three");
	put(writer, 0, "one");
	put(writer, 10, NULL);
	add_note(store, 12);
	return writer;
}

static void test_incidents(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;

	writer = make_store(&store);
	CHECK_STR(told_of(store.path, 0, UINT64_MAX), FIRST NOTED THIRD);
	CHECK_STR(told_of(store.path, AT(5), AT(25)), FIRST NOTED);
	CHECK_STR(told_of(store.path, AT(6), AT(26)), NOTED THIRD);
	/* a segment that replaces another one */
	put(writer, 20, NULL);
	CHECK_STR(told_of(store.path, 0, UINT64_MAX), FIRST NOTED);
	put(writer, 20, "three");
	CHECK_STR(told_of(store.path, 0, UINT64_MAX), FIRST NOTED THIRD);
}

static void test_stopping(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct told told = { .stop_at = 2 };

	writer = make_store(&store);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(store_reader_incidents(reader, 0, UINT64_MAX, tell, &told, NULL), -EINTR);
	CHECK_EQ(told.count, 2);
}

static void set_index(const struct tapes_store *store, const char *sql)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "python3 -c \"import sqlite3; c = sqlite3.connect('%s/index.sqlite'); "
		 "c.execute('%s'); c.commit()\"",
		 store->path, sql);
	CHECK_EQ(system(command), 0);
}

/* The segments decide, whatever the index contains or lacks. */
static void test_wrong_index(void)
{
	static const char *const changes[] = {
		"DELETE FROM incidents",
		"DELETE FROM incidents WHERE text = \\\"one\\\"",
		"UPDATE incidents SET time_ns = time_ns + 1 WHERE text = \\\"one\\\"",
		"UPDATE incidents SET kind = \\\"x\\\"",
		"UPDATE incidents SET segment = replace(segment, \\\"2.tape\\\", \\\"1.tape\\\")",
		"DELETE FROM segments",
		"DROP TABLE incidents",
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
		_cleanup_(tapes_store_done) struct tapes_store store;

		store_writer_close(make_store(&store));
		printf("# %s\n", changes[i]);
		set_index(&store, changes[i]);
		CHECK_STR(told_of(store.path, 0, UINT64_MAX), FIRST NOTED THIRD);
		CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
		CHECK_STR(told_of(store.path, 0, UINT64_MAX), FIRST NOTED THIRD);
	}
}

/* A segment that is still being recorded shows its incidents too. */
static void test_unsealed(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct spool_mark mark = { 0 };
	struct spool_block block = { 0 };

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	tape = tape_with(0, "one");
	CHECK_EQ(spool_encode(tape, &mark, tape->end_ns, &block), 0);
	CHECK_EQ(spool_pack(&block, NULL, &bytes), 0);
	CHECK_EQ(store_writer_spool(writer, 0, bytes.data, bytes.size, NULL), 0);
	CHECK(strstr(told_of(store.path, 0, UINT64_MAX), "0-5 ena_reset 3 one 0000000000.spool"));
	spool_mark_done(&mark);
	spool_block_done(&block);
}

static void test_totals(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(spooling_done) struct spooling spooling;
	struct store_totals totals;

	writer = make_store(&store);
	spooling_init(&spooling, store_writer_number(writer), 40);
	CHECK_EQ(spooling_put(&spooling, writer), 0);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(store_reader_totals(reader, &totals, NULL), 0);
	CHECK_EQ(totals.segments, 3);
	CHECK_EQ(totals.samples, 34);
	CHECK_EQ(totals.lost, 0);
	CHECK_EQ(totals.begin_ns, AT(0));
	CHECK_EQ(totals.end_ns, AT(41));
	CHECK_EQ(totals.unsealed, 1);
	CHECK_EQ(totals.unsealed_end_ns, AT(41));
	CHECK_EQ(totals.damaged, 0);
	CHECK(totals.spool_bytes && totals.segment_bytes && totals.free_bytes);
	CHECK(totals.bytes > totals.spool_bytes + totals.segment_bytes);
}

/* Makes one read-only file of all segments of a store, one after the other. */
static void make_file(const struct tapes_store *store, const char *name, char path[128])
{
	char command[512];

	snprintf(path, 128, "%s/%s", store->path, name);
	snprintf(command, sizeof(command), "cat '%s'/segments/*.tape > '%s' && chmod 400 '%s'",
		 store->path, path, path);
	CHECK_EQ(system(command), 0);
}

static void test_single_file(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_segments found = { 0 };
	struct store_totals totals;
	struct store_limits limits;
	uint64_t before, after;
	char path[128];

	writer = make_store(&store);
	make_file(&store, "cut.tape", path);
	CHECK_EQ(store_reader_open(path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, AT(9), AT(20), &found, NULL), 0);
	CHECK_EQ(found.list.count, 2);
	CHECK_STR(found.list.items[0].name, "cut.tape#1");
	CHECK_STR(found.list.items[1].name, "cut.tape#2");
	CHECK_EQ(found.list.items[1].begin_ns, AT(10));
	CHECK_EQ(found.list.items[1].offset, found.list.items[0].bytes);
	for (size_t i = 0; i < found.list.count; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = NULL;

		CHECK_EQ(store_reader_load(reader, &found.list.items[i], &everything, &tape, NULL),
			 0);
		CHECK_EQ(tape->samples.count, 10);
		CHECK_EQ(tape->sequence, i);
	}
	CHECK_EQ(store_reader_near(reader, AT(100), UINT64_MAX, &before, &after, NULL), 0);
	CHECK_EQ(before, AT(30));
	CHECK_EQ(store_reader_totals(reader, &totals, NULL), 0);
	CHECK_EQ(totals.segments, 3);
	CHECK_EQ(totals.samples, 30);
	CHECK_EQ(store_reader_limits(reader, &limits, NULL), 0);
	CHECK_EQ(store_reader_recorder(reader, NULL), 0);
	CHECK_STR(told_of(path, 0, UINT64_MAX), "0-5 ena_reset 3 one cut.tape#1\n"
						"20-25 ena_reset 3 three cut.tape#3\n");
	array_done(&found.list);
}

/* A segment after an unreadable one is found again. */
static void test_single_file_damaged(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_segments found = { 0 };
	struct error error = { 0 };
	char path[128], command[512];

	writer = make_store(&store);
	snprintf(command, sizeof(command),
		 "printf xxxx | dd of=$(echo '%s'/segments/*1.tape) bs=1 seek=12 conv=notrunc "
		 "status=none",
		 store.path);
	CHECK_EQ(system(command), 0);
	make_file(&store, "cut.tape", path);
	CHECK_EQ(store_reader_open(path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &found, NULL), 0);
	CHECK_EQ(found.list.count, 3);
	CHECK(!*found.list.items[0].damage && *found.list.items[1].damage);
	CHECK_EQ(found.list.items[1].begin_ns, AT(10));
	CHECK_EQ(found.list.items[1].end_ns, AT(20));
	CHECK_EQ(found.list.items[2].begin_ns, AT(20));
	array_done(&found.list);
	reader = store_reader_close(reader);
	snprintf(command, sizeof(command), "echo 'no tape' > '%s'/text", store.path);
	CHECK_EQ(system(command), 0);
	snprintf(path, sizeof(path), "%s/text", store.path);
	CHECK_EQ(store_reader_open(path, &reader, &error), -EBADMSG);
	CHECK(strstr(error.text, "text"));
	CHECK_EQ(truncate(path, 0), 0);
	CHECK_EQ(store_reader_open(path, &reader, &error), -EBADMSG);
}

static struct store_writer *open_store(struct tapes_store *store)
{
	struct store_writer *writer = NULL;

	tapes_store_init(store);
	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	return writer;
}

static void test_numbers(void)
{
	struct tapes_store store;
	struct store_writer *writer = open_store(&store);
	uint64_t first = 0;

	CHECK_EQ(incident_notes_reserve(store.path, 8, 1, &first, NULL), 0);
	CHECK_EQ(first, 1);
	CHECK_EQ(incident_notes_reserve(store.path, 1, 5, &first, NULL), 0);
	CHECK_EQ(first, 9);
	CHECK_EQ(incident_notes_reserve(store.path, 1, 100, &first, NULL), 0);
	CHECK_EQ(first, 100);
	store_writer_close(writer);
	tapes_store_done(&store);
}

/* A file that is empty or invalid counts as absent. */
static void test_damaged_position(void)
{
	static const char *const texts[] = { "",
					     "1",
					     "1 x 7 7 7 7 00000000\n",
					     "2 " BOOT " 1 1 1 1 00000000\n",
					     "1 " BOOT " 18446744073709551616 1 1 1 0\n",
					     "\xff\xff\xff",
					     "1 " BOOT " 7 7 7 7 8fa3e5c2" };
	struct tapes_store store;
	struct store_writer *writer = open_store(&store);
	struct log_resume found;
	char file[128];

	snprintf(file, sizeof(file), "%s/kernel-log", store.path);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		FILE *out = fopen(file, "w");

		CHECK(out && fputs(texts[i], out) >= 0 && fclose(out) == 0);
		CHECK_EQ(log_resume_find(store.path, BOOT, &found, NULL), 0);
		CHECK_STR(found.position.boot_id, "");
		CHECK_EQ(found.ids_from, 1);
		log_resume_done(&found);
	}
	CHECK_EQ(log_position_keep(store.path, &(struct log_position){ BOOT, 7, 8, 9, 10 }, NULL),
		 0);
	CHECK_EQ(log_resume_find(store.path, BOOT, &found, NULL), 0);
	CHECK_STR(found.position.boot_id, BOOT);
	CHECK_EQ(found.position.sequence, 7);
	CHECK_EQ(found.position.stamp_ns, 8);
	CHECK_EQ(found.position.next_id, 9);
	CHECK_EQ(found.position.below_id, 10);
	log_resume_done(&found);
	store_writer_close(writer);
	tapes_store_done(&store);
}

CHECK_MAIN({ "incidents of segments and of notes are found", test_incidents },
	   { "a reader can stop at any incident", test_stopping },
	   { "a wrong index changes no incident", test_wrong_index },
	   { "incidents of the spool are found", test_unsealed },
	   { "the size of a store", test_totals },
	   { "several segments in one file", test_single_file },
	   { "a damaged file of several segments", test_single_file_damaged },
	   { "each incident has its number", test_numbers },
	   { "a damaged position in the log counts as absent", test_damaged_position })
