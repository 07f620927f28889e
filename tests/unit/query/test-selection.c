// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>

#include "query/read/selection.h"
#include "tests/tapes.h"

#define LOWERED \
	"0 samples lost, at most 2 samples a second allowed by the kernel in part of the window"

#define AT(seconds) (TAPES_REALTIME + (uint64_t)((seconds)*1e9))
#define PERF(seconds) (TAPES_PERF + (uint64_t)((seconds)*1e9))

static struct selection *selected(struct tapes_store *store, uint64_t from_ns, uint64_t to_ns,
				  const char *cpus)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(filter_done) struct filter filter = { 0 };
	struct question question = { .window = { .from_ns = from_ns, .to_ns = to_ns },
				     .filter = &filter,
				     .threads = 3 };
	struct selection *selection = NULL;
	struct error error = { 0 };

	if (cpus)
		CHECK_EQ(cpu_filter_parse(cpus, &filter.cpus, NULL), 0);
	if (store_reader_open(store->path, &reader, &error) < 0 ||
	    selection_make(reader, &question, &selection, &error) < 0)
		CHECK_FAIL("%s", error.text);
	for (size_t i = 0; i < selection->rows.count; i++) {
		const struct selection_row *row = &selection->rows.items[i];

		CHECK(row->realtime_ns >= from_ns && row->realtime_ns < to_ns);
		CHECK(i == 0 || row[-1].realtime_ns <= row->realtime_ns);
	}
	return selection;
}

static const char *described(const struct coverage *coverage)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	static char shown[512];

	coverage_describe(coverage, &text);
	snprintf(shown, sizeof(shown), "%.*s", (int)text.size, (const char *)text.data);
	return shown;
}

/* One sample each tenth of a second on each of two CPUs. */
static struct tape *steady(unsigned int begin, unsigned int end)
{
	struct tape *tape = tapes_new(begin, end);
	uint32_t thread = tapes_thread(tape, 10, 11, "kubelet");
	uint32_t stack = tapes_kernel(tape, "entry_SYSCALL_64;do_syscall_64;shrink_node");

	for (uint64_t ns = tape->begin_ns; ns < tape->end_ns; ns += 100 * NSEC_PER_MSEC)
		for (uint32_t cpu = 0; cpu < 2; cpu++)
			tapes_sample(tape, ns, cpu, thread, stack);
	return tape;
}

static void test_rows(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *all = NULL, *some = NULL, *edge = NULL,
						      *one = NULL;

	tapes_store_init(&store);
	tapes_store_put(&store, steady(0, 2));
	tapes_store_put(&store, steady(2, 4));
	tapes_store_put(&store, steady(4, 6));
	all = selected(&store, AT(0), AT(6), NULL);
	CHECK_EQ(all->rows.count, 120);
	CHECK_EQ(all->tapes.count, 3);
	CHECK_EQ(all->coverage.covered_ns, 6 * NSEC_PER_SEC);
	CHECK_EQ(all->coverage.gaps.count, 0);
	CHECK_EQ(all->coverage.clock_error_ns, 900);
	some = selected(&store, AT(1.5), AT(2.5), "1,7-9");
	CHECK_EQ(some->rows.count, 10);
	CHECK_EQ(some->tapes.count, 2);
	for (size_t i = 0; i < 10; i++)
		CHECK_EQ(some->rows.items[i].realtime_ns, AT(1.5) + i * 100 * NSEC_PER_MSEC);
	/* the window includes its begin, but not its end */
	one = selected(&store, AT(1.5), AT(1.6), "0");
	CHECK_EQ(one->rows.count, 1);
	edge = selected(&store, AT(1.5) + 1, AT(1.6), NULL);
	CHECK_EQ(edge->rows.count, 0);
	CHECK_EQ(edge->coverage.covered_ns, edge->coverage.window_ns);
}

static void test_gaps(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *wide = NULL, *none = NULL;

	tapes_store_init(&store);
	tapes_store_put(&store, steady(0, 2));
	tapes_store_put(&store, steady(3, 4));
	wide = selected(&store, AT(0) - NSEC_PER_SEC, AT(6), NULL);
	CHECK_EQ(wide->coverage.window_ns, 7 * NSEC_PER_SEC);
	CHECK_EQ(wide->coverage.covered_ns, 3 * NSEC_PER_SEC);
	CHECK_EQ(wide->coverage.gaps.count, 3);
	CHECK_EQ(wide->coverage.gaps.items[0].to_ns, AT(0));
	CHECK_EQ(wide->coverage.gaps.items[1].from_ns, AT(2));
	CHECK_EQ(wide->coverage.gaps.items[1].to_ns, AT(3));
	CHECK_STR(wide->coverage.gaps.items[1].why, "nothing recorded");
	CHECK_EQ(wide->coverage.gaps.items[2].from_ns, AT(4));
	CHECK_STR(described(&wide->coverage), "covered 42.9 % (4 s not recorded), 0 samples lost, "
					      "names: 100 %, times within 1 us");
	none = selected(&store, AT(10), AT(20), NULL);
	CHECK_EQ(none->rows.count, 0);
	CHECK_EQ(none->coverage.covered_ns, 0);
	CHECK_EQ(none->coverage.gaps.count, 1);
	CHECK_STR(described(&none->coverage), "covered 0.0 % (10 s not recorded), 0 samples lost");
}

static void add_loss(struct tape *tape, uint32_t kind, uint32_t cpu, double from, double to,
		     uint64_t count)
{
	struct tape_loss loss = { kind, cpu, PERF(from), PERF(to), count };

	CHECK_EQ(array_push(&tape->losses, loss), 0);
}

static void test_losses(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *all = NULL, *cpu1 = NULL, *later = NULL;
	struct tape *tape = steady(0, 4);

	tapes_store_init(&store);
	add_loss(tape, TAPE_LOSS_SAMPLES, 0, 0.5, 1.5, 7);
	add_loss(tape, TAPE_LOSS_SAMPLES, 1, 2, 2, 100);
	add_loss(tape, TAPE_LOSS_SIDEBAND, TAPE_ALL_CPUS, 3, 3.5, 2);
	add_loss(tape, TAPE_LOSS_THROTTLED, 0, 3, 3.1, 1);
	add_loss(tape, TAPE_LOSS_DAMAGED, TAPE_ALL_CPUS, 3, 3, 3);
	add_loss(tape, 99, 0, 3, 3.1, 1000);
	tapes_store_put(&store, tape);
	all = selected(&store, AT(0), AT(4), NULL);
	CHECK_STR(described(&all->coverage),
		  "covered 100 %, 1107 samples lost in part of the window, 2 records of names lost "
		  "(names may be wrong), "
		  "1 time throttled, 3 parts that could not be read, names: 100 %, times "
		  "within 1 us");
	cpu1 = selected(&store, AT(0), AT(4), "1");
	CHECK_EQ(cpu1->coverage.lost_samples, 100);
	CHECK_EQ(cpu1->coverage.lost_sideband, 2);
	CHECK_EQ(cpu1->coverage.throttled, 0);
	later = selected(&store, AT(1), AT(2), NULL);
	CHECK_EQ(later->coverage.lost_samples, 4);
}

/*
 * Checks the words for each kind of loss. Offline CPUs and truncated callchains are reported, but
 * are not gaps.
 */
static void test_kinds_of_losses(void)
{
	static const struct {
		uint32_t kind;
		const char *said;
		bool is_whole;
	} kinds[] = {
		{ TAPE_LOSS_SAMPLES, "2 samples lost in part of the window", false },
		{ TAPE_LOSS_UNSAVED,
		  "0 samples lost, 2 samples unsaved "
		  "in part of the window",
		  false },
		{ TAPE_LOSS_SKIPPED, "0 samples lost, 2 samples skipped", false },
		{ TAPE_LOSS_SIDEBAND,
		  "0 samples lost, 2 records of names lost (names may be wrong)", false },
		{ TAPE_LOSS_THROTTLED, "0 samples lost, 2 times throttled", false },
		{ TAPE_LOSS_DAMAGED, "0 samples lost, 2 parts that could not be read", false },
		{ TAPE_LOSS_OFFLINE, "0 samples lost, CPU 1 was offline for 250 ms", true },
		{ TAPE_LOSS_TRUNCATED, "0 samples lost, 2 callchains truncated", true },
		{ TAPE_LOSS_LOWERED, LOWERED, true },
		{ 77, "2 samples lost in part of the window", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		_cleanup_(cleanup_selection) struct selection *selection = NULL;
		struct tape *tape = steady(0, 1);
		char said[256];

		tapes_store_init(&store);
		add_loss(tape, kinds[i].kind, 1, 0.25, 0.5, 2);
		tapes_store_put(&store, tape);
		selection = selected(&store, AT(0), AT(1), NULL);
		snprintf(said, sizeof(said), "covered 100 %%, %s, names: 100 %%, times within 1 us",
			 kinds[i].said);
		CHECK_STR(described(&selection->coverage), said);
		CHECK_EQ(coverage_is_whole(&selection->coverage), kinds[i].is_whole);
	}
}

/* A long absence of a CPU arrives in several losses, across segments, and is reported once. */
static void test_lasting_losses(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *all = NULL, *within = NULL;

	tapes_store_init(&store);
	for (unsigned int begin = 0; begin < 6; begin += 3) {
		struct tape *tape = steady(begin, begin + 3);

		for (unsigned int i = begin; i < begin + 3; i++) {
			add_loss(tape, TAPE_LOSS_OFFLINE, 1, i, i + 1, 1);
			add_loss(tape, TAPE_LOSS_THROTTLED, 0, i, i + 0.5, 1);
			add_loss(tape, TAPE_LOSS_THROTTLED, 0, i + 0.5, i + 0.9, 1);
		}
		tapes_store_put(&store, tape);
	}
	all = selected(&store, AT(0), AT(6), NULL);
	CHECK_EQ(all->coverage.offline, 1);
	CHECK_EQ(all->coverage.throttled, 6);
	within = selected(&store, AT(3.2), AT(3.4), NULL);
	CHECK_EQ(within->coverage.offline, 1);
	CHECK_EQ(within->coverage.throttled, 1);
}

/* A stall of the recorder is a gap, although a segment spans it. */
static void test_recorder_stalled(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	_cleanup_(buffer_done) struct buffer json = { 0 };
	struct tape *tape = steady(0, 4);

	tapes_store_init(&store);
	add_loss(tape, TAPE_LOSS_GAP, TAPE_ALL_CPUS, 1, 2.5, 1);
	add_loss(tape, TAPE_LOSS_GAP, TAPE_ALL_CPUS, 2, 3, 1);
	/* a stall of CPU 1 alone: the other CPUs were recorded */
	add_loss(tape, TAPE_LOSS_GAP, 1, 0, 4, 1);
	tapes_store_put(&store, tape);
	selection = selected(&store, AT(0), AT(4), NULL);
	CHECK_EQ(selection->coverage.covered_ns, 2 * NSEC_PER_SEC);
	CHECK_EQ(selection->coverage.stalled, 3);
	CHECK_EQ(selection->coverage.gaps.count, 2);
	CHECK_EQ(selection->coverage.gaps.items[0].from_ns, AT(1));
	CHECK_EQ(selection->coverage.gaps.items[1].to_ns, AT(3));
	CHECK_STR(selection->coverage.gaps.items[1].why,
		  "the recorder stalled, or the machine was suspended");
	CHECK(!coverage_is_whole(&selection->coverage));
	selection->coverage.gaps.count = 1;
	coverage_put_json(&selection->coverage, &selection->window, &json);
	buffer_u8(&json, 0);
	CHECK_STR(
		(char *)json.data,
		"{\"coverage\":{\"from\":\"2026-11-18T03:12:00.000000Z\","
		"\"to\":\"2026-11-18T03:12:04.000000Z\",\"host\":\"example\","
		"\"window_ns\":4000000000,"
		"\"covered_ns\":2000000000,\"lost\":0,\"unsaved\":0,\"skipped\":0,\"lost_names\":0,"
		"\"throttled\":0,\"limit\":0,\"damaged\":0,\"stalled\":3,\"stalled_signal_ns\":0,"
		"\"stalled_cpu_ns\":0,\"offline\":0,\"truncated\":0,"
		"\"lost_events\":0,"
		"\"frames\":240,\"named\":240,\"clock_error_ns\":900,\"unnamed\":{},\"whole\":"
		"false,"
		"\"gaps\":[{\"from\":\"2026-11-18T03:12:01.000000Z\","
		"\"to\":\"2026-11-18T03:12:02.500000Z\","
		"\"why\":\"the recorder stalled, or the machine was suspended\","
		"\"cause\":\"stalled\"}]}}\n");
}

static struct coverage coverage_of(struct tapes_store *store, uint64_t from_ns, uint64_t to_ns)
{
	_cleanup_(cleanup_selection) struct selection *selection =
		selected(store, from_ns, to_ns, NULL);

	printf("# %s\n", described(&selection->coverage));
	return selection->coverage;
}

/* The ends of a loss and of a window are exclusive. */
static void test_losses_at_the_edge(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = steady(0, 4);
	struct coverage coverage;

	tapes_store_init(&store);
	add_loss(tape, TAPE_LOSS_SAMPLES, 0, 1, 2, 10);
	add_loss(tape, TAPE_LOSS_SAMPLES, 0, 3, 3, 1);
	tapes_store_put(&store, tape);
	CHECK_EQ(coverage_of(&store, AT(0), AT(1)).lost_samples, 0);
	CHECK_EQ(coverage_of(&store, AT(2), AT(3)).lost_samples, 0);
	CHECK_EQ(coverage_of(&store, AT(3), AT(4)).lost_samples, 1);
	coverage = coverage_of(&store, AT(1), AT(2));
	CHECK(coverage.lost_samples == 10 && !coverage.lost_in_part && !coverage.lost_over_edge);
	coverage = coverage_of(&store, AT(1.2), AT(1.4));
	CHECK(coverage.lost_samples == 2 && !coverage.lost_in_part && coverage.lost_over_edge);
	coverage = coverage_of(&store, AT(0.5), AT(1.5));
	CHECK(coverage.lost_samples == 5 && coverage.lost_in_part && coverage.lost_over_edge);
	coverage = coverage_of(&store, AT(0), AT(4));
	CHECK(coverage.lost_samples == 11 && coverage.lost_in_part && !coverage.lost_over_edge);
}

/* The kernel reported the loss only in the next segment. */
static void test_losses_told_later(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *later = steady(2, 4);

	tapes_store_init(&store);
	add_loss(later, TAPE_LOSS_SAMPLES, 1, 1.5, 2.5, 77);
	tapes_store_put(&store, steady(0, 2));
	tapes_store_put(&store, later);
	CHECK_EQ(coverage_of(&store, AT(0), AT(2)).lost_samples, 39);
	CHECK_EQ(coverage_of(&store, AT(1.6), AT(1.7)).lost_samples, 8);
	CHECK_EQ(coverage_of(&store, AT(0), AT(3)).lost_samples, 77);
	CHECK_EQ(coverage_of(&store, AT(0), AT(1.5)).lost_samples, 0);
	CHECK_EQ(coverage_of(&store, AT(2.5), AT(4)).lost_samples, 0);
}

static void test_names(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	struct tape *tape = tapes_new(0, 1);
	uint32_t thread = tapes_thread(tape, 1, 1, "x"), stack, unnamed;

	tapes_store_init(&store);
	stack = tapes_kernel(tape, "a;b;c");
	unnamed = tapes_call(tape, stack, tapes_module(tape, "/bin/x", TAPE_MODULE_ELF), 16, "");
	tapes_sample(tape, PERF(0.1), 0, thread, stack);
	tapes_sample(tape, PERF(0.2), 0, thread, unnamed);
	tapes_sample(tape, PERF(0.3), 0, thread, 0);
	tapes_store_put(&store, tape);
	selection = selected(&store, AT(0), AT(1), NULL);
	CHECK_EQ(selection->coverage.frames, 8);
	CHECK_EQ(selection->coverage.named, 6);
}

/* Gets the path of the segment with this number. */
static void segment_path(const struct tapes_store *store, size_t number, char *path, size_t size)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &segments, NULL), 0);
	CHECK(number < segments.list.count);
	snprintf(path, size, "%s/segments/%s", store->path, segments.list.items[number].name);
	array_done(&segments.list);
}

static void test_damage(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	char path[256];
	int fd;

	tapes_store_init(&store);
	tapes_store_put(&store, steady(0, 1));
	tapes_store_put(&store, steady(1, 2));
	tapes_store_put(&store, steady(2, 3));
	segment_path(&store, 1, path, sizeof(path));
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, 200), 0);
	close(fd);
	selection = selected(&store, AT(0), AT(3), NULL);
	CHECK_EQ(selection->rows.count, 40);
	CHECK_EQ(selection->coverage.damaged, 1);
	CHECK_EQ(selection->coverage.gaps.count, 1);
	CHECK_EQ(selection->coverage.gaps.items[0].from_ns, AT(1));
	CHECK_EQ(selection->coverage.gaps.items[0].to_ns, AT(2));
	printf("# %s\n", selection->coverage.gaps.items[0].why);
	CHECK(strstr(selection->coverage.gaps.items[0].why, "truncated"));
	CHECK_EQ(selection->coverage.covered_ns, 2 * NSEC_PER_SEC);
}

/* An unreadable file does not make the whole query fail, whatever the error is. */
static void test_unreadable(void)
{
	static const char *const reasons[] = { "too large for a segment", "a symbolic link" };

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		_cleanup_(cleanup_selection) struct selection *selection = NULL;
		_cleanup_(tapes_store_done) struct tapes_store store;
		char path[256];

		tapes_store_init(&store);
		tapes_store_put(&store, steady(0, 1));
		tapes_store_put(&store, steady(1, 2));
		segment_path(&store, 1, path, sizeof(path));
		if (i == 0) {
			CHECK_EQ(truncate(path, 2ll << 30), 0);
		} else {
			CHECK_EQ(unlink(path), 0);
			CHECK_EQ(symlink(strrchr(path, '/') + 1, path), 0);
		}
		selection = selected(&store, AT(0), AT(2), NULL);
		CHECK_EQ(selection->rows.count, 20);
		CHECK_EQ(selection->coverage.damaged, 1);
		CHECK_EQ(selection->coverage.gaps.count, 1);
		CHECK(selection->coverage.gaps.items[0].unread);
		printf("# %s\n", selection->coverage.gaps.items[0].why);
		CHECK(strstr(selection->coverage.gaps.items[0].why, reasons[i]));
	}
}

/* The index still contains the segment. test-removed-ranges.c checks what retention removed. */
static void test_missing_file(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	char path[256];

	tapes_store_init(&store);
	tapes_store_put(&store, steady(0, 1));
	tapes_store_put(&store, steady(1, 2));
	segment_path(&store, 0, path, sizeof(path));
	CHECK_EQ(unlink(path), 0);
	selection = selected(&store, AT(0.5), AT(2), NULL);
	CHECK_EQ(selection->rows.count, 20);
	CHECK_EQ(selection->coverage.damaged, 1);
	CHECK_EQ(selection->coverage.gaps.count, 1);
	CHECK_EQ(selection->coverage.gaps.items[0].from_ns, AT(0.5));
	printf("# %s\n", selection->coverage.gaps.items[0].why);
	CHECK(strstr(selection->coverage.gaps.items[0].why, "its file vanished"));
}

/*
 * Two anchors 2 s apart. The wall clock was set by `step` seconds between them; the conversion
 * applies the step at the later anchor.
 */
static struct tape *stepped(double step)
{
	struct tape *tape = tapes_bare(PERF(0), PERF(4));
	uint32_t thread = tapes_thread(tape, 1, 1, "x");

	tapes_anchor(tape, PERF(0), AT(0));
	tapes_anchor(tape, PERF(2), AT(2 + step));
	for (int i = 0; i < 40; i++)
		tapes_sample(tape, PERF(i / 10.0), 0, thread, 0);
	return tape;
}

static void test_clock_set_forward(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	struct tape *next = tapes_bare(PERF(4), PERF(5));

	tapes_store_init(&store);
	tapes_store_put(&store, stepped(3));
	tapes_anchor(next, PERF(4), AT(4 + 3 + 60));
	tapes_store_put(&store, next);
	/* the clock jumped over 63 s, which do not exist in the recording and are not a gap */
	selection = selected(&store, AT(0), AT(68), NULL);
	CHECK_EQ(selection->rows.count, 40);
	CHECK_EQ(selection->coverage.gaps.count, 0);
	CHECK_EQ(selection->coverage.covered_ns, 68 * NSEC_PER_SEC);
}

static void test_clock_set_back(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *selection = NULL, *part = NULL;

	tapes_store_init(&store);
	tapes_store_put(&store, stepped(-1));
	tapes_store_put(&store, steady(1, 2)); /* the wall clock shows the same second again */
	/* perf 0 to 2 is AT(0) to AT(2), perf 2 to 4 is AT(1) to AT(3) */
	selection = selected(&store, AT(0), AT(3), NULL);
	CHECK_EQ(selection->rows.count, 60);
	CHECK_EQ(selection->coverage.covered_ns, 3 * NSEC_PER_SEC);
	part = selected(&store, AT(1), AT(1.5), "0");
	CHECK_EQ(part->rows.count, 15);
}

static void test_cpu_filter(void)
{
	static const char *const wrong[] = { "",    ",",     "1,",	",1",
					     "-",   "1-",    "-1",	"3-1",
					     "1 2", "65536", "0-65536", "99999999999999999999",
					     "a",   "1,,2",  "0x3" };
	_cleanup_(cpu_filter_done) struct cpu_set_filter filter = { 0 };
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct error error = { 0 };

	CHECK(cpu_filter_passes(&filter, 77));
	CHECK_EQ(cpu_filter_parse("65535,8-11,3,10-12", &filter, NULL), 0);
	CHECK(cpu_filter_passes(&filter, 3));
	CHECK(cpu_filter_passes(&filter, 12));
	CHECK(cpu_filter_passes(&filter, 65535));
	CHECK(!cpu_filter_passes(&filter, 7));
	CHECK(!cpu_filter_passes(&filter, UINT32_MAX));
	cpu_filter_describe(&filter, &text);
	CHECK_EQ(text.size, 12);
	CHECK(!memcmp(text.data, "3,8-12,65535", 12));
	cpu_filter_done(&filter);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		printf("# \"%s\"\n", wrong[i]);
		CHECK_EQ(cpu_filter_parse(wrong[i], &filter, &error), -EINVAL);
	}
	CHECK_STR(error.text, "\"0x3\" is not a CPU list; use numbers up to 65535 and ranges: "
			      "3,8-11");
}

CHECK_MAIN({ "a window has its rows", test_rows }, { "time without segments is a gap", test_gaps },
	   { "losses that overlap count once", test_losses },
	   { "each kind of loss has its words", test_kinds_of_losses },
	   { "a stalled recorder is a gap", test_recorder_stalled },
	   { "a long absence is one loss", test_lasting_losses },
	   { "losses at the edges of a window", test_losses_at_the_edge },
	   { "losses that a later segment reports", test_losses_told_later },
	   { "frames have names", test_names }, { "a damaged segment is a gap", test_damage },
	   { "a segment that cannot be read is a gap", test_unreadable },
	   { "a segment whose file vanished is a gap", test_missing_file },
	   { "the wall clock was set forward", test_clock_set_forward },
	   { "the wall clock was set back", test_clock_set_back },
	   { "lists of CPUs choose samples", test_cpu_filter })
