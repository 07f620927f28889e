// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes each byte of a small store and truncates its files. Verify must find all damage, and no
 * query may silently give another answer.
 */
#include "tests/check.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>

#include "base/file.h"
#include "store/disk/notes.h"
#include "tests/made-spools.h"
#include "tests/tier.h"

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

/* Two segments, a spool, a note. */
static void make_store(struct tapes_store *store)
{
	const struct notes_field field = { "text", "the first thing that was noted" };
	const struct note note = { NOTES_INCIDENT, TAPES_REALTIME, &field, 1 };
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(spooling_done) struct spooling spooling;

	tapes_store_init(store);
	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	for (unsigned int i = 0; i < 2; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = tapes_new(i * 10, i * 10 + 10);
		uint32_t stack = tapes_kernel(tape, "a;b");

		tape->sequence = i;
		for (unsigned int s = 0; s < 10; s++)
			tapes_sample(tape, tape->begin_ns + s * NSEC_PER_SEC, s % 2,
				     tapes_thread(tape, 1, 1, "x"), stack);
		CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
	}
	spooling_init(&spooling, store_writer_number(writer), 20);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(spooling_put(&spooling, writer), 0);
	CHECK_EQ(notes_append(store->path, &note, NULL), 0);
}

struct findings {
	size_t count;
	char text[4096];
};

static void find(void *context, const char *file, const char *what)
{
	struct findings *findings = context;
	size_t at = strlen(findings->text);

	findings->count++;
	snprintf(findings->text + at, sizeof(findings->text) - at, "%s: %s\n", file, what);
}

static size_t verify(const char *path, struct findings *ret_findings)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_verified verified;
	struct error error = { 0 };

	*ret_findings = (struct findings){ 0 };
	if (store_reader_open(path, &reader, &error) < 0 ||
	    store_reader_verify(reader, find, NULL, ret_findings, &verified, &error) < 0)
		CHECK_FAIL("%s", error.text);
	CHECK_EQ(ret_findings->count, verified.damaged + verified.stale);
	return ret_findings->count;
}

/* All answers of a store as one number, and how much they report as lost. */
struct answer {
	uint64_t samples;
	uint64_t incidents;
	/* the damage of tapes, and the number of segments that cannot be read at all */
	uint64_t losses;
};

static int count_incident(void *context, const struct store_incident *incident)
{
	struct answer *answer = context;

	answer->incidents += incident->time_ns == TAPES_REALTIME &&
			     strcmp(incident->text, "the first thing that was noted") == 0;
	return 0;
}

static void add_segment(struct answer *answer, struct store_reader *reader,
			const struct store_segment *segment)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error error = { 0 };

	if (store_reader_load(reader, segment, &everything, &tape, &error) < 0) {
		CHECK(*error.text);
		answer->losses++;
		return;
	}
	answer->losses += tape->losses.count;
	answer->samples += tape->samples.count;
	for (size_t i = 0; i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];

		CHECK(sample->time_ns % 250000000 == 0);
		CHECK_STR(tape_string(tape, tape->threads.items[sample->thread].comm), "x");
	}
}

static struct answer ask(const char *path)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	struct store_totals totals;
	struct answer answer = { 0 };
	struct error error = { 0 };

	if (store_reader_open(path, &reader, &error) < 0 ||
	    store_reader_find(reader, 0, UINT64_MAX, &segments, &error) < 0 ||
	    store_reader_incidents(reader, 0, UINT64_MAX, count_incident, &answer, &error) < 0 ||
	    store_reader_totals(reader, &totals, &error) < 0)
		CHECK_FAIL("%s", error.text);
	for (size_t i = 0; i < segments.list.count; i++)
		add_segment(&answer, reader, &segments.list.items[i]);
	if (answer.incidents != 1)
		CHECK(totals.damaged);
	array_done(&segments.list);
	return answer;
}

/* Reads the only file that matches the pattern. */
static void read_file(const struct tapes_store *store, const char *pattern, char path[256],
		      char **ret_data, size_t *ret_size)
{
	char command[256];
	FILE *list;

	snprintf(command, sizeof(command), "echo '%s'/%s", store->path, pattern);
	list = popen(command, "r");
	CHECK(list && fgets(path, 256, list));
	pclose(list);
	path[strcspn(path, "\n")] = 0;
	CHECK_EQ(file_read(path, 1 << 24, ret_data, ret_size), 0);
}

static void write_file(const char *path, const char *data, size_t size)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	CHECK(fd >= 0);
	CHECK_EQ(file_write_all(fd, data, size), 0);
}

static void test_sound(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct findings findings;
	struct answer answer;

	make_store(&store);
	if (verify(store.path, &findings))
		CHECK_FAIL("%s", findings.text);
	answer = ask(store.path);
	CHECK_EQ(answer.samples, 32);
	CHECK_EQ(answer.incidents, 1);
	CHECK_EQ(answer.losses, 0);
}

/*
 * Changes each `step`th byte of a file, and truncates the file at that byte. A truncation between
 * two records or blocks cannot be found.
 */
static void damage_each(const char *pattern, size_t step, bool cuts_show)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_free_ char *data = NULL;
	struct findings findings;
	char path[256];
	size_t size;

	make_store(&store);
	read_file(&store, pattern, path, &data, &size);
	for (size_t at = 0; at < size; at += step) {
		struct answer answer;

		data[at] ^= 1 << at % 8;
		write_file(path, data, size);
		answer = ask(store.path);
		if (!verify(store.path, &findings))
			CHECK_FAIL("%s: changed at %zu, and nothing found", path, at);
		CHECK(answer.samples == 32 || answer.losses);
		data[at] ^= 1 << at % 8;
		if (!at && !cuts_show)
			continue;
		write_file(path, data, at);
		answer = ask(store.path);
		CHECK(answer.samples <= 32 && answer.incidents <= 1);
		CHECK(!cuts_show || verify(store.path, &findings));
		CHECK(!cuts_show || answer.samples == 32 || answer.losses);
	}
}

static void test_damaged_segment(void)
{
	damage_each("segments/*0.tape", 3, true);
}

static void test_damaged_spool(void)
{
	damage_each("spool/*", 7, false);
}

static void test_damaged_notes(void)
{
	damage_each("notes", 1, false);
}

/* The index is a cache: no change of a byte in it changes an answer. */
static void test_damaged_index(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_free_ char *data = NULL;
	char path[256];
	size_t size;

	make_store(&store);
	read_file(&store, "index.sqlite", path, &data, &size);
	for (size_t at = 0; at < size; at += data[at] ? tier_pick(7, 1) : 61) {
		struct answer answer;

		/* a newer version of the schema is refused */
		if (at >= 60 && at < 64)
			continue;
		for (int cut = 0; cut < 2; cut++) {
			data[at] ^= 1 << at % 8;
			write_file(path, data, cut ? at : size);
			data[at] ^= 1 << at % 8;
			answer = ask(store.path);
			if (answer.samples != 32 || answer.incidents != 1 || answer.losses)
				CHECK_FAIL("byte %zu", at);
		}
	}
}

/* Shows the rows of the index as text, also those of a rebuilt index. */
static void dump(const struct tapes_store *store, char **ret_text)
{
	char command[512], path[256];

	snprintf(command, sizeof(command),
		 "python3 -c \"import sqlite3; print(list(sqlite3.connect('%s/index.sqlite')"
		 ".iterdump()))\" > '%s/dump'",
		 store->path, store->path);
	CHECK_EQ(system(command), 0);
	snprintf(path, sizeof(path), "%s/dump", store->path);
	CHECK_EQ(file_read(path, 1 << 20, ret_text, NULL), 0);
}

static void test_rebuild(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_free_ char *before = NULL, *after = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;

	make_store(&store);
	dump(&store, &before);
	CHECK(strstr(before, "0000000001.tape"));
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(store_writer_rebuild(writer, NULL), 0);
	dump(&store, &after);
	CHECK_STR(after, before);
	CHECK_EQ(ask(store.path).samples, 32);
}

/* The first segment is only in the index; its file is gone. */
static void check_taken(const struct tapes_store *store)
{
	struct findings findings;

	CHECK_EQ(verify(store->path, &findings), 2);
	CHECK_STR(findings.text,
		  "index.sqlite: it has a segment that does not exist\n"
		  "11111111-2222-3333-4444-555555555555-0000000000.tape: its file vanished\n");
}

static void test_stale(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct findings findings;
	char command[512];

	make_store(&store);
	snprintf(command, sizeof(command),
		 "cd '%s/segments' && cp *0.tape $(echo *1.tape | sed s/1.tape/7.tape/)",
		 store.path);
	CHECK_EQ(system(command), 0);
	CHECK_EQ(verify(store.path, &findings), 1);
	CHECK_STR(findings.text, "index.sqlite: it lacks a segment\n");
	snprintf(command, sizeof(command), "cd '%s/segments' && rm *0.tape *7.tape", store.path);
	CHECK_EQ(system(command), 0);
	check_taken(&store);
}

/* What differs in an incident of another store. */
enum difference { NOTHING, ID, TIME, STALL, SEVERITY, KIND, TEXT, SOURCE, FIELDS, DIFFERENCES };

/* A store of one segment with an incident. */
static void make_store_with_incident(struct tapes_store *store, enum difference other)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10);
	struct tape_incident incident = {
		.time_ns = tape->begin_ns + (other == TIME ? 6 : 5) * NSEC_PER_SEC,
		.stall_ns = tape->begin_ns + (other == STALL) * NSEC_PER_SEC,
		.kind = tapes_string(tape, other == KIND ? "ena_stall" : "ena_reset"),
		.severity = other == SEVERITY ? 2 : 3,
		.text = tapes_string(tape, other == TEXT ? "TWO" : "ONE"),
		.source = tapes_string(tape, other == SOURCE ? "file" : "kmsg"),
	};

	tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 1, 1, "x"), 0);
	incident.fields.first = tape->fields.count;
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "bdf" : TAPE_INCIDENT_ID;
		const char *value = i ? (other == FIELDS ? "8" : "9") : other == ID ? "5" : "4";

		CHECK_EQ(array_push(&tape->fields, (struct tape_fact){ tapes_string(tape, name),
								       tapes_string(tape, value) }),
			 0);
		incident.fields.count++;
	}
	CHECK_EQ(array_push(&tape->incidents, incident), 0);
	tapes_store_init(store);
	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
}

/* An index of another store, whose only incident differs in one value. */
static void test_other_incidents(void)
{
	static const char said[] = "index.sqlite: its incidents differ from those of the segments";

	for (enum difference other = NOTHING; other < DIFFERENCES; other++) {
		_cleanup_(tapes_store_done) struct tapes_store store, others;
		struct findings findings;
		char command[512];

		make_store_with_incident(&store, NOTHING);
		make_store_with_incident(&others, other);
		snprintf(command, sizeof(command), "cp '%s/index.sqlite' '%s'", others.path,
			 store.path);
		CHECK_EQ(system(command), 0);
		verify(store.path, &findings);
		if (!strstr(findings.text, said) != (other == NOTHING))
			CHECK_FAIL("difference %d: %s", other, findings.text);
	}
}

/* Moves the first segment's file out of the store, or back. */
static void move_first(const struct tapes_store *store, const char *from, const char *to)
{
	char command[512];

	snprintf(command, sizeof(command), "cd '%s' && mv %s/*0.tape %s", store->path, from, to);
	CHECK_EQ(system(command), 0);
}

/* Returns how many segments and spools a store has if only `files` files may be open, or an error.
 */
static int count_with(const struct tapes_store *store, rlim_t files)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	struct rlimit usual, few;
	int r;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
	few = usual;
	few.rlim_cur = files;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	r = store_reader_open(store->path, &reader, NULL);
	if (r == 0)
		r = store_reader_find(reader, 0, UINT64_MAX, &segments, NULL);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++)
		if (*segments.list.items[i].damage)
			CHECK_FAIL("with %d files: %s", (int)files, segments.list.items[i].damage);
	r = r < 0 ? r : (int)segments.list.count;
	array_done(&segments.list);
	return r;
}

/* A reader that reaches its limit of open files does not report a sound file as damaged. */
static void test_few_files(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	int refused = 0;

	make_store(&store);
	for (rlim_t files = 3; files < 32; files++) {
		int r = count_with(&store, files);

		refused += r < 0;
		if (r >= 0)
			CHECK_EQ(r, 3);
	}
	CHECK(refused > 0);
	CHECK_EQ(count_with(&store, 32), 3);
}

/* At the next pause, the segment that was moved away from this store comes back. */
static const struct tapes_store *store_of_pause;

int __wrap_nanosleep(const struct timespec *pause, struct timespec *ret_left);

int __wrap_nanosleep(const struct timespec *pause, struct timespec *ret_left)
{
	(void)pause;
	(void)ret_left;
	if (store_of_pause)
		move_first(store_of_pause, ".", "segments");
	store_of_pause = NULL;
	return 0;
}

/* While a recorder runs, a difference counts only if it remains after a pause. */
static void test_stale_for_a_moment(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct findings findings;
	char command[512];

	make_store(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	move_first(&store, "segments", ".");
	store_of_pause = &store;
	CHECK_EQ(verify(store.path, &findings), 0);
	CHECK(!store_of_pause);
	snprintf(command, sizeof(command), "cd '%s' && rm segments/*0.tape", store.path);
	CHECK_EQ(system(command), 0);
	check_taken(&store);
}

CHECK_MAIN({ "a sound store has no findings", test_sound },
	   { "a damaged segment is found", test_damaged_segment },
	   { "a damaged spool is found", test_damaged_spool },
	   { "damaged notes are found", test_damaged_notes },
	   { "a damaged index changes no answer", test_damaged_index },
	   { "a rebuilt index is the same", test_rebuild }, { "an old index is found", test_stale },
	   { "an index with another incident is found", test_other_incidents },
	   { "a sound file that cannot be opened is not damaged", test_few_files },
	   { "an index that is old for a moment is not", test_stale_for_a_moment })
