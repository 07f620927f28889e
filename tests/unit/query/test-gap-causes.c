// SPDX-License-Identifier: GPL-2.0-only
/* The reasons for gaps before, between and after recordings. */
#include "tests/check.h"

#include <dirent.h>
#include <sys/stat.h>

#include "query/read/recorded.h"
#include "query/read/selection.h"
#include "tests/tapes.h"

#define AT(seconds) (TAPES_REALTIME + (uint64_t)((seconds)*1e9))
#define PERF(seconds) (TAPES_PERF + (uint64_t)((seconds)*1e9))

/* Finds the first file of a folder. */
static void find_only(const char *folder, char *path, size_t size)
{
	DIR *names = opendir(folder);
	struct dirent *entry;

	CHECK(names);
	while ((entry = readdir(names)))
		if (entry->d_name[0] != '.')
			snprintf(path, size, "%s/%.100s", folder, entry->d_name);
	closedir(names);
}

static struct selection *selected(const char *store, double from, double to)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	static const struct filter filter;
	struct question question = { .window = { .from_ns = AT(from), .to_ns = AT(to) },
				     .filter = &filter };
	struct selection *selection = NULL;
	struct error error = { 0 };

	if (store_reader_open(store, &reader, &error) < 0 ||
	    selection_make(reader, &question, &selection, &error) < 0)
		CHECK_FAIL("%s", error.text);
	return selection;
}

static void check_gap(const struct coverage *coverage, size_t number, double from, double to,
		      const char *why)
{
	const struct coverage_gap *gap = &coverage->gaps.items[number];

	CHECK(number < coverage->gaps.count);
	CHECK_EQ(gap->from_ns, AT(from));
	CHECK_EQ(gap->to_ns, AT(to));
	CHECK_STR(gap->why, why);
}

/* The reason for a gap between two boots mentions the reboot. */
static void test_boots(void)
{
	_cleanup_(cleanup_selection) struct selection *all = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *other = tapes_new(7, 8);

	tapes_store_init(&store);
	tapes_store_put(&store, tapes_new(0, 2));
	tapes_store_put(&store, tapes_new(4, 5));
	other->facts.count = 0;
	CHECK_EQ(tape_add_fact(other, "boot_id", "99999999-2222-3333-4444-555555555555"), 0);
	tapes_store_put(&store, other);
	all = selected(store.path, 0, 8);
	check_gap(&all->coverage, 0, 2, 4, "nothing recorded");
	check_gap(&all->coverage, 1, 5, 7, "nothing recorded; the machine rebooted");
	CHECK_EQ(all->coverage.gaps.items[0].cause, COVERAGE_CAUSE_UNKNOWN);
	CHECK_EQ(all->coverage.gaps.items[1].cause, COVERAGE_CAUSE_REBOOTED);
}

/* The boot of an imported file is unknown, so each file counts as a separate boot. */
static void test_imported(void)
{
	_cleanup_(cleanup_selection) struct selection *all = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *other = tapes_new(4, 5);

	tapes_store_init(&store);
	tapes_store_put(&store, tapes_new(0, 2));
	other->facts.count = 0;
	CHECK_EQ(tape_add_fact(other, "boot_id", "import-99999999"), 0);
	CHECK_EQ(tape_add_fact(other, "source", "perf.data"), 0);
	tapes_store_put(&store, other);
	all = selected(store.path, 0, 5);
	check_gap(&all->coverage, 0, 2, 4, "nothing recorded");
}

/*
 * Puts a tape of the recording with the start time `begun`. If `ended` is not NULL, it is the
 * reason why the recording ended.
 */
static void put_part(struct tapes_store *store, unsigned int begin, unsigned int end,
		     const char *begun, const char *ended)
{
	struct tape *tape = tapes_new(begin, end);

	CHECK_EQ(tape_add_fact(tape, TAPE_BEGUN, begun), 0);
	if (ended)
		CHECK_EQ(tape_add_fact(tape, TAPE_ENDED, ended), 0);
	tapes_store_put(store, tape);
}

/*
 * Checks the cause in windows that contain only the gap, begin with it, end with it, and surround
 * it.
 */
static void check_why(const char *store, double from, double to, const char *why, const char *cause)
{
	const struct {
		double from, to;
	} windows[] = { { from, to },
			{ from - 0.5, to + 0.5 },
			{ from - 0.5, to - 0.5 },
			{ from + 0.5, to + 0.5 },
			{ from + 0.25, to - 0.25 } };

	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		_cleanup_(cleanup_selection) struct selection *some =
			selected(store, windows[i].from, windows[i].to);
		const struct coverage_gap *gap = some->coverage.gaps.items;

		CHECK_EQ(some->coverage.gaps.count, 1);
		CHECK_STR(gap->why, why);
		CHECK_STR(gap->cause ? coverage_cause_name(gap->cause) : "", cause);
		CHECK_EQ(gap->from_ns, AT(MAX(windows[i].from, from)));
		CHECK_EQ(gap->to_ns, AT(MIN(windows[i].to, to)));
	}
}

/* The end of a recording explains the gap after it, even if an import comes later. */
static void test_imported_behind(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *other = tapes_new(14, 15);

	tapes_store_init(&store);
	put_part(&store, 10, 12, "10", "SIGTERM");
	other->facts.count = 0;
	CHECK_EQ(tape_add_fact(other, "boot_id", "import-99999999"), 0);
	CHECK_EQ(tape_add_fact(other, "source", "perf.data"), 0);
	tapes_store_put(&store, other);
	check_why(store.path, 12, 14, "the recorder was stopped (SIGTERM)", "stopped");
}

/* A segment that ends within another one is not the neighbour of the gap after both. */
static void test_overlapping(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;

	tapes_store_init(&store);
	put_part(&store, 10, 20, "10", "SIGTERM");
	put_part(&store, 12, 13, "12", "duration");
	put_part(&store, 24, 26, "24", NULL);
	put_part(&store, 28, 30, "28", NULL);
	check_why(store.path, 20, 24, "the recorder was stopped (SIGTERM)", "stopped");
	check_why(store.path, 26, 28, "the recorder was killed", "killed");
}

/* The end of a recording explains the time after it. A killed recorder could not report its end. */
static void test_ended(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *rebooted = tapes_new(60, 62), *unsaved_tape = tapes_new(72, 74);
	struct tape_loss unsaved = { TAPE_LOSS_UNSAVED, TAPE_ALL_CPUS, PERF(62), PERF(72), 300 };

	tapes_store_init(&store);
	put_part(&store, 10, 12, "10", NULL);
	put_part(&store, 12, 14, "10", "SIGTERM");
	put_part(&store, 16, 18, "16", "duration");
	put_part(&store, 20, 22, "20", NULL);
	put_part(&store, 24, 26, "24", TAPE_ENDED_KILLED);
	put_part(&store, 28, 30, "28", NULL);
	put_part(&store, 32, 34, "28", NULL);
	put_part(&store, 36, 38, "36", "whim");
	put_part(&store, 40, 42, "40", "SIGHUP");
	rebooted->facts.count = 0;
	rebooted->anchors.items[0].monotonic_ns = rebooted->anchors.items[0].boottime_ns =
		1; /* so its boot lies before the gap */
	CHECK_EQ(tape_add_fact(rebooted, "boot_id", "99999999-2222-3333-4444-555555555555"), 0);
	CHECK_EQ(tape_add_fact(rebooted, TAPE_BEGUN, "60"), 0);
	tapes_store_put(&store, rebooted);
	unsaved_tape->facts.count = 0;
	CHECK_EQ(tape_add_fact(unsaved_tape, "boot_id", "99999999-2222-3333-4444-555555555555"), 0);
	CHECK_EQ(tape_add_fact(unsaved_tape, TAPE_BEGUN, "60"), 0);
	CHECK_EQ(array_push(&unsaved_tape->losses, unsaved), 0);
	tapes_store_put(&store, unsaved_tape);
	check_why(store.path, 14, 16, "the recorder was stopped (SIGTERM)", "stopped");
	check_why(store.path, 18, 20, "the recorder had run for its --duration", "duration");
	check_why(store.path, 22, 24, "the recorder was killed", "killed");
	check_why(store.path, 26, 28, "the recorder was killed", "killed");
	check_why(store.path, 30, 32, "nothing recorded", "");
	check_why(store.path, 34, 36, "the recorder was killed", "killed");
	check_why(store.path, 38, 40, "the recorder ended (whim)", "ended");
	check_why(store.path, 42, 60, "the recorder was stopped (SIGHUP); the machine rebooted",
		  "rebooted");
	check_why(store.path, 62, 72, "unsaved: the store could not be written", "unsaved");
}

/*
 * Somebody set the wall clock while the recorder could not store anything. The tape that reports
 * the loss knows only the new time.
 */
static void test_unsaved_and_set(void)
{
	_cleanup_(cleanup_selection) struct selection *all = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct window window = { .from_ns = AT(10), .to_ns = AT(24) };
	struct store_segments segments = { 0 };
	struct coverage listed = { 0 };
	struct tape *next = tapes_new(22, 24);
	struct tape_loss unsaved = { TAPE_LOSS_UNSAVED, TAPE_ALL_CPUS, PERF(12), PERF(20), 300 };

	tapes_store_init(&store);
	put_part(&store, 10, 12, "10", "SIGTERM");
	next->anchors.items[0].realtime_ns += 5 * NSEC_PER_MSEC;
	CHECK_EQ(tape_add_fact(next, TAPE_BEGUN, "22"), 0);
	CHECK_EQ(array_push(&next->losses, unsaved), 0);
	tapes_store_put(&store, next);
	all = selected(store.path, 10, 24);
	CHECK_EQ(all->coverage.gaps.count, 2);
	check_gap(&all->coverage, 0, 12, 20.005, "unsaved: the store could not be written");
	check_gap(&all->coverage, 1, 20.005, 22.005, "the recorder was stopped (SIGTERM)");
	/* the same gaps without reading all losses */
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, AT(10), AT(24), &segments, NULL), 0);
	CHECK_EQ(recorded_cover(reader, &segments, &window, NULL, &listed, NULL), 0);
	CHECK_EQ(listed.gaps.count, 2);
	check_gap(&listed, 0, 12, 20.005, "unsaved: the store could not be written");
	check_gap(&listed, 1, 20.005, 22.005, "the recorder was stopped (SIGTERM)");
	array_done(&listed.gaps);
	array_done(&segments.list);
}

static const char *outside(const char *store, double from, double to)
{
	static char why[256];
	_cleanup_(cleanup_selection) struct selection *some = selected(store, from, to);

	CHECK_EQ(some->coverage.gaps.count, 1);
	CHECK_EQ(some->coverage.covered_ns, 0);
	snprintf(why, sizeof(why), "%s", some->coverage.gaps.items[0].why);
	return why;
}

static void test_outside(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	char file[128], moved[256];

	tapes_store_init(&store);
	put_part(&store, 10, 12, "1010000000999", "SIGINT");
	CHECK_STR(outside(store.path, 5, 8), "before the first recording");
	CHECK_STR(outside(store.path, 5, 10), "before the first recording");
	CHECK_STR(outside(store.path, 12, 15), "the recorder was stopped (SIGINT)");
	CHECK_STR(outside(store.path, 13, 15), "the recorder was stopped (SIGINT)");
	CHECK_STR(outside(store.path, 1e9, 2e9), "that time is in the future");
	/* a file from another host does not explain the time before and after it */
	snprintf(file, sizeof(file), "%s/segments", store.path);
	find_only(file, moved, sizeof(moved));
	CHECK_STR(outside(moved, 5, 8), "not in this file");
	/* the recording has an earlier part than this file */
	put_part(&store, 8, 9, "1010000000999", NULL);
	CHECK_STR(outside(store.path, 5, 8), "nothing recorded");
}

/* A file without the end of its recording does not say that the recorder was killed. */
static void test_behind_file(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	char folder[128], file[256];

	tapes_store_init(&store);
	put_part(&store, 10, 12, "1010000000999", NULL);
	CHECK_STR(outside(store.path, 12, 15), "the recorder was killed");
	snprintf(folder, sizeof(folder), "%s/segments", store.path);
	find_only(folder, file, sizeof(file));
	CHECK_STR(outside(file, 12, 15), "not in this file");
	CHECK_STR(outside(file, 13, 15), "not in this file");
}

/* A file with the end of its recording says how it ended. */
static void test_end_in_file(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	char folder[128], file[256];

	tapes_store_init(&store);
	put_part(&store, 10, 12, "1010000000999", TAPE_ENDED_KILLED);
	snprintf(folder, sizeof(folder), "%s/segments", store.path);
	find_only(folder, file, sizeof(file));
	CHECK_STR(outside(file, 12, 15), "the recorder was killed");
}

/*
 * The wall clock jumps ahead by three seconds at second 4. With `slept`, the machine slept for
 * these seconds.
 */
static void check_jump(bool slept, double covered, const char *why)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = tapes_bare(PERF(0), PERF(10));

	tapes_store_init(&store);
	for (int i = 0; i < 10; i++) {
		uint64_t late_ns = i >= 4 ? 3 * NSEC_PER_SEC : 0, mono_ns = (i + 1) * NSEC_PER_SEC;

		CHECK_EQ(array_push(&tape->anchors,
				    (struct tape_anchor){ .perf_ns = PERF(i),
							  .realtime_ns = AT(i) + late_ns,
							  .monotonic_ns = mono_ns,
							  .boottime_ns =
								  mono_ns + (slept ? late_ns : 0),
							  .error_ns = 900 }),
			 0);
	}
	tapes_store_put(&store, tape);
	{
		_cleanup_(cleanup_selection) struct selection *all = selected(store.path, 0, 13);

		CHECK_EQ(all->coverage.covered_ns, (uint64_t)(covered * 1e9));
		CHECK_EQ(all->coverage.gaps.count, why != NULL);
		if (why)
			check_gap(&all->coverage, 0, 4, 7, why);
	}
}

static void test_jumps(void)
{
	check_jump(true, 10, "the machine was suspended");
	check_jump(false, 13, NULL);
}

/*
 * A recorder that could not store everything left a note. The note counts until a segment reports
 * the loss.
 */
static void test_unsaved_note(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct store_unsaved left = { .ended = "SIGTERM",
				      .from_ns = AT(12),
				      .to_ns = AT(16),
				      .perf_from_ns = PERF(12),
				      .perf_to_ns = PERF(16),
				      .samples = 400 },
			     heard;
	char file[128];
	struct stat about;

	tapes_store_init(&store);
	put_part(&store, 10, 12, "10", NULL);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	snprintf(file, sizeof(file), "%s/last-words", store.path);
	CHECK_EQ(stat(file, &about), 0);
	CHECK_EQ(about.st_size, 4096);
	CHECK_EQ(store_writer_unsaved(writer, &heard), 0);
	CHECK_EQ(store_writer_note_unsaved(writer, &left), 0);
	CHECK_EQ(stat(file, &about), 0);
	CHECK_EQ(about.st_size, 4096);
	writer = store_writer_close(writer);
	CHECK_STR(outside(store.path, 13, 15), "unsaved: the store could not be written");
	{
		_cleanup_(cleanup_selection) struct selection *all = selected(store.path, 10, 16);
		_cleanup_(cleanup_selection) struct selection *half = selected(store.path, 12, 14);

		CHECK_EQ(all->coverage.unsaved, 400);
		CHECK_EQ(half->coverage.unsaved, 200);
		check_gap(&all->coverage, 0, 12, 16, "unsaved: the store could not be written");
	}
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(store_writer_unsaved(writer, &heard), 1);
	CHECK_STR(heard.ended, "SIGTERM");
	CHECK_EQ(heard.perf_to_ns, PERF(16));
	CHECK_EQ(heard.samples, 400);
	store_writer_clear_unsaved(writer);
	CHECK_EQ(store_writer_unsaved(writer, &heard), 0);
	CHECK_STR(outside(store.path, 13, 15), "the recorder was killed");
	writer = store_writer_close(writer);
	CHECK(stat(file, &about) < 0);
}

CHECK_MAIN({ "a gap between two boots", test_boots },
	   { "how a recording ended explains the gap after it", test_ended },
	   { "unsaved samples while the wall clock was set", test_unsaved_and_set },
	   { "segments that overlap", test_overlapping },
	   { "the time before and after all recordings", test_outside },
	   { "a file that ends before its recording", test_behind_file },
	   { "a file with the end of its recording", test_end_in_file },
	   { "a suspended machine and a clock that was set", test_jumps },
	   { "the note of a recorder that could not store", test_unsaved_note },
	   { "imported files", test_imported },
	   { "an import after a recording", test_imported_behind })
