// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stretches that a store no longer contains, because of retention or because their files vanished.
 */
#include "tests/check.h"

#include <sys/stat.h>

#include "query/read/selection.h"
#include "store/disk/removed-ranges.h"
#include "tests/fake-clock.h"
#include "tests/tapes.h"

#define AT(seconds) (TAPES_REALTIME + (seconds)*NSEC_PER_SEC)

static const struct store_limits no_limits = { UINT64_MAX, UINT64_MAX, 0, 0, true, true };

static void add(struct store_removed_ranges *gone, unsigned int from, unsigned int to, bool missing)
{
	CHECK_EQ(removed_ranges_add(gone,
				    &(struct store_removed_range){ AT(from), AT(to), missing }),
		 0);
}

/* Shows "r0-10 m20-30": the seconds that retention removed, and the seconds that vanished. */
static const char *stretches(const struct store_removed_ranges *gone)
{
	static char text[1024];
	size_t used = 0;

	text[0] = 0;
	for (size_t i = 0; i < gone->list.count && used < sizeof(text); i++)
		used += snprintf(
			text + used, sizeof(text) - used, "%s%c%llu-%llu", i ? " " : "",
			gone->list.items[i].vanished ? 'm' : 'r',
			(unsigned long long)(gone->list.items[i].from_ns - AT(0)) / NSEC_PER_SEC,
			(unsigned long long)(gone->list.items[i].to_ns - AT(0)) / NSEC_PER_SEC);
	return text;
}

static void test_stretches(void)
{
	struct store_removed_ranges gone = { 0 };

	add(&gone, 100, 110, false);
	add(&gone, 111, 120, false); /* a gap of a second joins two stretches */
	CHECK_STR(stretches(&gone), "r100-120");
	add(&gone, 122, 130, false);
	add(&gone, 50, 60, false);
	CHECK_STR(stretches(&gone), "r50-60 r100-120 r122-130");
	add(&gone, 120, 122, true); /* a stretch of another kind */
	add(&gone, 60, 61, true);
	CHECK_STR(stretches(&gone), "r50-60 r100-120 r122-130 m60-61 m120-122");
	CHECK(removed_ranges_has(&gone, false, AT(100), AT(120)));
	CHECK(!removed_ranges_has(&gone, true, AT(100), AT(120)));
	CHECK(!removed_ranges_has(&gone, false, AT(100), AT(121)));
	add(&gone, 55, 125, false);
	CHECK_STR(stretches(&gone), "r50-130 m60-61 m120-122");
	array_done(&gone.list);
}

/* The number of stretches is limited: the two that are nearest to each other become one. */
static void test_bound(void)
{
	struct store_removed_ranges gone = { 0 };

	for (unsigned int i = 0; i < 1000; i++)
		add(&gone, i * 100, i * 100 + (i % 10 == 5 ? 95 : 50), i % 2);
	CHECK_EQ(gone.list.count, REMOVED_RANGES_MAX);
	for (unsigned int i = 0; i < 1000; i++)
		CHECK(removed_ranges_has(&gone, i % 2, AT(i * 100), AT(i * 100 + 50)));
	array_done(&gone.list);
}

/* The gap of 30 s in the middle is the smallest of one kind, so it alone is closed. */
static void test_nearest(void)
{
	struct store_removed_ranges gone = { 0 };
	unsigned int middle = REMOVED_RANGES_MAX / 2 * 100;

	for (unsigned int i = 0; i < REMOVED_RANGES_MAX; i++)
		add(&gone, i * 100, i * 100 + (i * 100 == middle ? 70 : 50), false);
	/* it is near the others, and of another kind */
	add(&gone, middle + 75, middle + 80, true);
	CHECK_EQ(gone.list.count, REMOVED_RANGES_MAX);
	CHECK(removed_ranges_has(&gone, false, AT(middle), AT(middle + 150)));
	CHECK(removed_ranges_has(&gone, true, AT(middle + 75), AT(middle + 80)));
	CHECK(!removed_ranges_has(&gone, false, AT(middle - 100), AT(middle)));
	CHECK(!removed_ranges_has(&gone, false, AT(middle + 100), AT(middle + 201)));
	array_done(&gone.list);
}

static void test_file(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_removed_ranges gone = { 0 }, back = { 0 };
	struct error error = { 0 };
	uint64_t damaged;

	tapes_store_init(&store);
	CHECK_EQ(removed_ranges_read(store.path, &back, &damaged, NULL), 0);
	CHECK_EQ(back.list.count, 0);
	add(&gone, 10, 20, false);
	add(&gone, 5, 15, true);
	CHECK_EQ(removed_ranges_write(store.path, &gone, NULL), 0);
	CHECK_EQ(removed_ranges_read(store.path, &back, &damaged, NULL), 0);
	CHECK_STR(stretches(&back), "r10-20 m5-15");
	CHECK_EQ(damaged, 0);
	CHECK_EQ(removed_ranges_write("/nonexistent", &gone, &error), -ENOENT);
	CHECK(strstr(error.text, "/nonexistent/gone"));
	array_done(&gone.list);
	array_done(&back.list);
}

/* Makes ten segments of ten seconds; retention removes those before `from` because of their age. */
static void make_store(struct tapes_store *store, unsigned int from)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct store_limits limits = no_limits;
	struct store_retained retained;

	tapes_store_init(store);
	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	for (unsigned int i = 0; i < 10; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = tapes_new(i * 10, i * 10 + 10);

		tape->sequence = i;
		tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 1, 1, "x"), 0);
		CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
	}
	limits.max_age_ns = clock_ns(CLOCK_REALTIME) - AT(from) - 1;
	CHECK_EQ(store_writer_retain(writer, &limits, false, NULL, NULL, &retained, NULL), 0);
	CHECK_EQ(retained.removed, from / 10);
}

/* Moves a segment's file away, or back. */
static void move_segment(const struct tapes_store *store, unsigned int sequence, bool back)
{
	char there[256], away[256];

	snprintf(there, sizeof(there),
		 "%s/segments/11111111-2222-3333-4444-555555555555-%010u.tape", store->path,
		 sequence);
	snprintf(away, sizeof(away), "%s/away", store->path);
	CHECK_EQ(rename(back ? away : there, back ? there : away), 0);
}

static void remove_segment(const struct tapes_store *store, unsigned int sequence)
{
	char name[64];

	snprintf(name, sizeof(name), "segments/11111111-2222-3333-4444-555555555555-%010u.tape",
		 sequence);
	CHECK_EQ(tapes_remove_all(store, name), 0);
}

/* Opens the store for writing, which makes the index agree with the folder. */
static void reopen(const struct tapes_store *store, bool rebuild)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;

	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	if (rebuild)
		CHECK_EQ(store_writer_rebuild(writer, NULL), 0);
}

static const char *gone_in(const struct tapes_store *store)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_removed_ranges gone = { 0 };
	const char *text;

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(store_reader_removed(reader, 0, UINT64_MAX, &gone, NULL), 0);
	text = stretches(&gone);
	array_done(&gone.list);
	return text;
}

static struct selection *select_window(const struct tapes_store *store, unsigned int from,
				       unsigned int to)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	static const struct filter all;
	struct question question = { .window = { .from_ns = AT(from), .to_ns = AT(to) },
				     .filter = &all };
	struct selection *selection;

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(selection_make(reader, &question, &selection, NULL), 0);
	return selection;
}

/* Checks the gaps of a window as text: "0-30 why; ...". */
static void check_gaps(const struct tapes_store *store, unsigned int from, unsigned int to,
		       const char *expected)
{
	_cleanup_(cleanup_selection) struct selection *selection = select_window(store, from, to);
	char text[1024] = "";
	size_t used = 0;

	for (size_t i = 0; i < selection->coverage.gaps.count && used < sizeof(text); i++) {
		const struct coverage_gap *gap = &selection->coverage.gaps.items[i];

		CHECK_EQ(gap->unread, strstr(gap->why, "vanished") != NULL);
		CHECK_EQ(gap->until_ns != 0, strstr(gap->why, "retention") != NULL);
		used += snprintf(text + used, sizeof(text) - used, "%s%llu-%llu %s", i ? "; " : "",
				 (unsigned long long)(gap->from_ns - AT(0)) / NSEC_PER_SEC,
				 (unsigned long long)(gap->to_ns - AT(0)) / NSEC_PER_SEC, gap->why);
	}
	CHECK_STR(text, expected);
}

static void test_removed(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	_cleanup_(buffer_done) struct buffer json = { 0 };

	make_store(&store, 30);
	CHECK_STR(gone_in(&store), "r0-30");
	check_gaps(&store, 5, 50, "5-30 removed by retention");
	check_gaps(&store, 10, 20, "10-20 removed by retention");
	check_gaps(&store, 30, 50, "");
	check_gaps(&store, 95, 110, "100-110 nothing recorded");
	reopen(&store, true);
	check_gaps(&store, 5, 50, "5-30 removed by retention");
	selection = select_window(&store, 10, 40);
	coverage_put_json(&selection->coverage, &selection->window, &json);
	buffer_u8(&json, 0);
	CHECK(strstr((char *)json.data, "\"from\":\"2026-11-18T03:12:10.000000Z\","
					"\"to\":\"2026-11-18T03:12:30.000000Z\","
					"\"why\":\"removed by retention\",\"cause\":\"removed\","
					"\"since\":\"2026-11-18T03:12:00.000000Z\","
					"\"until\":\"2026-11-18T03:12:30.000000Z\"}"));
}

struct listed {
	size_t segments, missing;
};

static struct listed list(const struct tapes_store *store)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	struct store_totals totals;
	struct listed listed = { 0 };

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &segments, NULL), 0);
	for (size_t i = 0; i < segments.list.count; i++) {
		const struct store_segment *segment = &segments.list.items[i];

		listed.segments += !segment->vanished;
		listed.missing += segment->vanished;
		CHECK_STR(segment->damage, segment->vanished ? "its file vanished" : "");
	}
	array_done(&segments.list);
	CHECK_EQ(store_reader_totals(reader, &totals, NULL), 0);
	CHECK_EQ(totals.segments, listed.segments);
	CHECK_EQ(totals.vanished, listed.missing);
	CHECK_EQ(totals.samples, listed.segments);
	return listed;
}

static void find(void *context, const char *file, const char *what)
{
	printf("# %s: %s\n", file, what);
}

static uint64_t damage_in(const struct tapes_store *store)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_verified verified;

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(store_reader_verify(reader, find, NULL, NULL, &verified, NULL), 0);
	return verified.damaged;
}

/* Two files vanished. First the index reports them, and after the next writer the note does. */
static void test_missing(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct listed listed;

	make_store(&store, 30);
	remove_segment(&store, 5);
	remove_segment(&store, 6);
	listed = list(&store);
	CHECK_EQ(listed.segments, 5);
	CHECK_EQ(listed.missing, 2);
	CHECK_EQ(damage_in(&store), 2);
	check_gaps(&store, 20, 60,
		   "20-30 removed by retention; 50-60 "
		   "11111111-2222-3333-4444-555555555555-0000000005.tape: its file vanished");
	reopen(&store, false);
	listed = list(&store);
	CHECK_EQ(listed.segments, 5);
	CHECK_EQ(listed.missing, 0);
	CHECK_STR(gone_in(&store), "r0-30 m50-70");
	CHECK_EQ(damage_in(&store), 0);
	check_gaps(&store, 20, 75,
		   "20-30 removed by retention; 50-70 the files of its segments vanished");
	reopen(&store, true);
	CHECK_STR(gone_in(&store), "r0-30 m50-70");
}

/* Files that vanished may come back. */
static void test_back_again(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;

	make_store(&store, 30);
	move_segment(&store, 5, false);
	reopen(&store, false);
	selection = select_window(&store, 40, 70);
	CHECK_EQ(selection->coverage.damaged, 1);
	selection_free(selection);
	move_segment(&store, 5, true);
	reopen(&store, false);
	selection = select_window(&store, 40, 70);
	CHECK_EQ(selection->coverage.damaged, 0);
	CHECK(coverage_is_whole(&selection->coverage));
}

/*
 * When the index is rebuilt, the valid part of a damaged note stays, and the rest is not reported
 * again.
 */
static void test_repaired(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_removed_ranges gone = { 0 };
	uint64_t damaged;
	char path[256];
	FILE *file;

	make_store(&store, 30);
	snprintf(path, sizeof(path), "%s/gone", store.path);
	file = fopen(path, "a");
	CHECK(file && fputs("junk", file) >= 0);
	fclose(file);
	CHECK_EQ(removed_ranges_read(store.path, &gone, &damaged, NULL), 0);
	CHECK(damaged > 0);
	array_done(&gone.list);
	reopen(&store, true);
	CHECK_EQ(removed_ranges_read(store.path, &gone, &damaged, NULL), 0);
	CHECK_EQ(damaged, 0);
	array_done(&gone.list);
	CHECK_STR(gone_in(&store), "r0-30");
}

/*
 * A writer was killed after it wrote the note and before it removed the row. The row lacks a file,
 * but the file did not vanish.
 */
static void test_killed(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_removed_ranges gone = { 0 };
	struct listed listed;

	make_store(&store, 30);
	add(&gone, 0, 40, false);
	CHECK_EQ(removed_ranges_write(store.path, &gone, NULL), 0);
	array_done(&gone.list);
	/* the row is still in the index */
	check_gaps(&store, 20, 60, "20-30 removed by retention");
	remove_segment(&store, 3);
	listed = list(&store);
	CHECK_EQ(listed.segments, 6);
	CHECK_EQ(listed.missing, 0);
	check_gaps(&store, 20, 60, "20-40 removed by retention");
	reopen(&store, false);
	CHECK_STR(gone_in(&store), "r0-40");
}

/*
 * If another object is in the place of the note, the store goes on. A store without a note works as
 * before.
 */
static void test_no_note(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct listed listed;
	char path[128];

	make_store(&store, 30);
	CHECK_EQ(tapes_remove_all(&store, "gone"), 0);
	CHECK_STR(gone_in(&store), "");
	check_gaps(&store, 20, 40, "20-30 nothing recorded");
	snprintf(path, sizeof(path), "%s/gone", store.path);
	CHECK_EQ(mkdir(path, 0700), 0);
	remove_segment(&store, 4);
	listed = list(&store);
	CHECK_EQ(listed.missing, 1);
	/* the row reports the stretch as long as the note cannot */
	reopen(&store, false);
	listed = list(&store);
	CHECK_EQ(listed.missing, 1);
}

CHECK_MAIN({ "stretches are joined", test_stretches },
	   { "the number of stretches is bounded", test_bound },
	   { "of too many stretches, the nearest two become one", test_nearest },
	   { "the note survives encoding", test_file },
	   { "segments that retention removed are gaps with a cause", test_removed },
	   { "segments whose files vanished are gaps with a cause", test_missing },
	   { "a writer that was killed while it removed", test_killed },
	   { "files that vanished may come back", test_back_again },
	   { "a damaged note is repaired", test_repaired },
	   { "a store whose note cannot be written", test_no_note })
