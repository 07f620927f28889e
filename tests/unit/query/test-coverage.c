// SPDX-License-Identifier: GPL-2.0-only
/* Gaps of a window that its tapes report, and the gap that a damaged spool leaves. */
#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "query/read/recorded.h"
#include "query/read/selection.h"
#include "tests/made-spools.h"

#define AT(seconds) (TAPES_REALTIME + (uint64_t)((seconds)*1e9))
#define PERF(seconds) (TAPES_PERF + (uint64_t)((seconds)*1e9))
#define DAMAGED "damaged or truncated before it was sealed"

/* Finds the only file of a folder. */
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

static struct selection *selected_of(const char *store, double from, double to, const char *cpus)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(filter_done) struct filter filter = { 0 };
	struct question question = { .window = { .from_ns = AT(from), .to_ns = AT(to) },
				     .filter = &filter };
	struct selection *selection = NULL;
	struct error error = { 0 };

	if (cpus)
		CHECK_EQ(cpu_filter_parse(cpus, &filter.cpus, NULL), 0);
	if (store_reader_open(store, &reader, &error) < 0 ||
	    selection_make(reader, &question, &selection, &error) < 0)
		CHECK_FAIL("%s", error.text);
	return selection;
}

static struct selection *selected(const char *store, double from, double to)
{
	return selected_of(store, from, to, NULL);
}

static void check_gap(const struct coverage *coverage, size_t number, double from, double to,
		      const char *why)
{
	const struct coverage_gap *gap = &coverage->gaps.items[number];

	CHECK(number < coverage->gaps.count);
	CHECK_EQ(gap->from_ns, AT(from));
	CHECK_EQ(gap->to_ns, AT(to));
	CHECK_STR(gap->why, why);
	CHECK_EQ(gap->unread, strcmp(why, DAMAGED) == 0);
}

static void add_damage(struct tape *tape, uint32_t cpu, uint64_t from_ns, uint64_t to_ns)
{
	struct tape_loss loss = { TAPE_LOSS_DAMAGED, cpu, from_ns, to_ns, 1 };

	CHECK_EQ(array_push(&tape->losses, loss), 0);
}

static void test_stretches(void)
{
	_cleanup_(cleanup_selection) struct selection *all = NULL, *within = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = tapes_new(0, 10);

	tapes_store_init(&store);
	add_damage(tape, TAPE_ALL_CPUS, PERF(2), PERF(5));
	add_damage(tape, 1, PERF(6), PERF(8)); /* the other CPUs were recorded */
	tapes_store_put(&store, tape);
	all = selected(store.path, 0, 10);
	CHECK_EQ(all->coverage.covered_ns, 7 * NSEC_PER_SEC);
	CHECK_EQ(all->coverage.damaged, 2);
	CHECK_EQ(all->coverage.gaps.count, 1);
	check_gap(&all->coverage, 0, 2, 5, DAMAGED);
	within = selected(store.path, 3, 4);
	CHECK_EQ(within->coverage.covered_ns, 0);
	check_gap(&within->coverage, 0, 3, 4, DAMAGED);
}

/* The tolerance for the ends of two segments does not cover a window that is shorter. */
static void test_short_window(void)
{
	_cleanup_(cleanup_selection) struct selection *outside = NULL, *inside = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;

	tapes_store_init(&store);
	tapes_store_put(&store, tapes_new(10, 20));
	outside = selected(store.path, 5, 5.000025);
	CHECK_EQ(outside->coverage.window_ns, 25000);
	CHECK_EQ(outside->coverage.covered_ns, 0);
	CHECK_EQ(outside->coverage.gaps.count, 1);
	inside = selected(store.path, 15, 15.000025);
	CHECK_EQ(inside->coverage.covered_ns, 25000);
	CHECK_EQ(inside->coverage.gaps.count, 0);
}

/* An import leaves such losses if many records cannot be decoded. */
static void test_single_records(void)
{
	_cleanup_(cleanup_selection) struct selection *all = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = tapes_new(0, 10);

	tapes_store_init(&store);
	for (uint64_t i = 0; i < 5000; i++)
		add_damage(tape, TAPE_ALL_CPUS, PERF(2) + i * NSEC_PER_MSEC,
			   PERF(2) + i * NSEC_PER_MSEC + 1);
	tapes_store_put(&store, tape);
	all = selected(store.path, 0, 10);
	CHECK_EQ(all->coverage.gaps.count, 0);
	CHECK_EQ(all->coverage.covered_ns, 10 * NSEC_PER_SEC);
	CHECK_EQ(all->coverage.damaged, 5000);
	CHECK(!coverage_is_whole(&all->coverage));
}

static struct tape *tape_of_cpus(unsigned int begin, unsigned int end, const char *list)
{
	struct tape *tape = tapes_new(begin, end);

	CHECK_EQ(tape_add_fact(tape, "cpu_list", list), 0);
	CHECK_EQ(tape_add_fact(tape, "cpus_online", "0-7"), 0);
	return tape;
}

static void check_left_out(const char *store, double to, const char *asked, const char *left_out,
			   bool in_part, bool all)
{
	_cleanup_(cleanup_selection) struct selection *selection = selected_of(store, 0, to, asked);
	_cleanup_(buffer_done) struct buffer text = { 0 };
	const struct coverage *coverage = &selection->coverage;
	char said[128];

	CHECK_STR(coverage->left_out, left_out);
	CHECK_EQ(coverage->left_out_in_part, in_part);
	CHECK_EQ(coverage->left_out_all, all);
	CHECK_EQ(coverage_is_whole(coverage), !*left_out);
	coverage_describe(coverage, &text);
	coverage_put_json(coverage, &selection->window, &text);
	buffer_u8(&text, 0);
	snprintf(said, sizeof(said), ", CPU%s %s not recorded", strpbrk(left_out, ",-") ? "s" : "",
		 left_out);
	CHECK_EQ(strstr((char *)text.data, said) != NULL, *left_out != 0);
	CHECK_EQ(strstr((char *)text.data, "recorded in part of the window") != NULL, in_part);
	snprintf(said, sizeof(said), "\"cpus_left_out\":\"%s\"", left_out);
	CHECK_EQ(strstr((char *)text.data, said) != NULL, *left_out != 0);
}

/* With "record --cpus", a selected CPU that was not recorded is a gap. */
static void test_left_out(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;

	tapes_store_init(&store);
	tapes_store_put(&store, tape_of_cpus(0, 2, "0-3,5"));
	check_left_out(store.path, 2, NULL, "4,6-7", false, false);
	check_left_out(store.path, 2, "2,5", "", false, false);
	check_left_out(store.path, 2, "3-4", "4", false, false);
	check_left_out(store.path, 2, "7", "7", false, true);
	check_left_out(store.path, 2, "70", "70", false, true);
	tapes_store_put(&store, tape_of_cpus(2, 4, "4"));
	check_left_out(store.path, 4, NULL, "0-7", true, false);
	check_left_out(store.path, 4, "7", "7", false, true);
	check_left_out(store.path, 4, "4", "4", true, false);
	tapes_store_put(&store, tapes_new(4, 6));
	check_left_out(store.path, 6, "7", "7", true, false);
}

static struct tape *tape_of_host(unsigned int begin, unsigned int end)
{
	struct tape *tape = tapes_new(begin, end);

	CHECK_EQ(tape_add_fact(tape, "cpus_online", "0-7"), 0);
	return tape;
}

/* All CPUs were recorded, so a CPU that the host does not have is not a gap. */
static void test_no_such_cpu(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape_loss away = { TAPE_LOSS_OFFLINE, 9, PERF(0), PERF(2), 1 };
	struct tape *tape = tape_of_host(0, 2);

	tapes_store_init(&store);
	CHECK_EQ(array_push(&tape->losses, away), 0);
	tapes_sample(tape, PERF(1), 8, tapes_thread(tape, 1, 1, "x"), tapes_kernel(tape, "a"));
	tapes_store_put(&store, tape);
	check_left_out(store.path, 2, NULL, "", false, false);
	check_left_out(store.path, 2, "0,7", "", false, false);
	/* a CPU that came online later */
	check_left_out(store.path, 2, "8", "", false, false);
	check_left_out(store.path, 2, "0,77", "77", false, false);
	check_left_out(store.path, 2, "77", "77", false, true);
	/* without a list of CPUs, nobody knows whether the host has this CPU */
	tapes_store_put(&store, tapes_new(2, 4));
	check_left_out(store.path, 4, "0,77", "77", true, false);
}

static void add_loss(struct tape *tape, enum tape_loss_kind kind, uint32_t cpu, double from,
		     double to, uint64_t count)
{
	struct tape_loss loss = { kind, cpu, PERF(from), PERF(to), count };

	CHECK_EQ(array_push(&tape->losses, loss), 0);
}

/* Checks the text about a window: it contains `with`, but not `without`. */
static void check_said(const char *store, double from, double to, const char *cpus, double covered,
		       bool whole, const char *with, const char *without)
{
	_cleanup_(cleanup_selection) struct selection *selection =
		selected_of(store, from, to, cpus);
	_cleanup_(buffer_done) struct buffer text = { 0 };

	coverage_describe(&selection->coverage, &text);
	buffer_u8(&text, 0);
	printf("# %s\n", (char *)text.data);
	CHECK_EQ(selection->coverage.covered_ns, (uint64_t)(covered * 1e9));
	CHECK_EQ(coverage_is_whole(&selection->coverage), whole);
	CHECK(!with || strstr((char *)text.data, with));
	CHECK(!without || !strstr((char *)text.data, without));
}

/* CPU 1 is offline for two seconds, in several losses; CPUs 2 and 3 are offline from the start. */
static void test_offline(void)
{
	_cleanup_(cleanup_selection) struct selection *all = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = tapes_new(0, 5), *next = tapes_new(5, 10);

	tapes_store_init(&store);
	add_loss(tape, TAPE_LOSS_OFFLINE, 1, 4, 5, 1);
	for (uint32_t cpu = 2; cpu < 4; cpu++) {
		add_loss(tape, TAPE_LOSS_OFFLINE, cpu, 0, 5, 1);
		add_loss(next, TAPE_LOSS_OFFLINE, cpu, 5, 10, 1);
	}
	add_loss(next, TAPE_LOSS_OFFLINE, 1, 5, 5.5, 1);
	add_loss(next, TAPE_LOSS_OFFLINE, 1, 5.5, 6, 1);
	tapes_store_put(&store, tape);
	tapes_store_put(&store, next);
	check_said(store.path, 0, 10, NULL, 10, true,
		   ", CPUs 2-3 were offline for 10 s, CPU 1 was offline for 2 s", NULL);
	check_said(store.path, 0, 10, "0", 10, true, NULL, "offline");
	check_said(store.path, 0, 10, "0-1", 10, false, ", CPU 1 was offline for 2 s", "2-3");
	check_said(store.path, 3, 5, "1", 1, false, "covered 50.0 %", NULL);
	check_said(store.path, 3, 10, "1-2", 5, false, "CPU 1 was offline for 2 s", NULL);
	check_said(store.path, 4.5, 5.75, "1", 0, false, "CPU 1 was offline for 1.3 s", NULL);
	check_said(store.path, 6, 9, "1", 3, true, NULL, "offline");
	/* the coverage subtracts an uncovered part only once */
	check_said(store.path, 8, 12, "2", 0, false, "CPU 2 was offline for 2 s", NULL);
	all = selected(store.path, 0, 10);
	CHECK_EQ(all->coverage.offline, 3);
	CHECK_EQ(all->coverage.gaps.count, 2);
	CHECK_STR(all->coverage.gaps.items[0].cpus, "2-3");
	check_gap(&all->coverage, 1, 4, 6, "CPU 1 was offline");
}

/* The second thread of each core is switched off, so every other CPU is offline. */
static void test_many_offline(void)
{
	_cleanup_(cleanup_selection) struct selection *all = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = tapes_new(0, 10);
	bool told[192] = { false };

	tapes_store_init(&store);
	for (uint32_t cpu = 1; cpu < ARRAY_SIZE(told); cpu += 2)
		add_loss(tape, TAPE_LOSS_OFFLINE, cpu, 4, 6, 1);
	add_loss(tape, TAPE_LOSS_OFFLINE, UINT32_MAX - 1, 4, 6, 1);
	tapes_store_put(&store, tape);
	all = selected(store.path, 0, 10);
	CHECK_EQ(all->coverage.offline, ARRAY_SIZE(told) / 2 + 1);
	for (size_t i = 0; i < all->coverage.gaps.count; i++) {
		const struct coverage_gap *gap = &all->coverage.gaps.items[i];
		_cleanup_(cpu_filter_done) struct cpu_set_filter cpus = { 0 };

		CHECK_EQ(gap->from_ns, AT(4));
		CHECK_EQ(gap->to_ns, AT(6));
		CHECK_EQ(cpu_filter_parse(gap->cpus, &cpus, NULL), 0);
		for (uint32_t cpu = 0; cpu < ARRAY_SIZE(told); cpu++) {
			CHECK(!cpu_filter_passes(&cpus, cpu) || !told[cpu]);
			told[cpu] |= cpu_filter_passes(&cpus, cpu);
		}
	}
	for (uint32_t cpu = 0; cpu < ARRAY_SIZE(told); cpu++)
		CHECK_EQ(told[cpu], cpu % 2);
}

/* The first half of the window has a limit and skipped samples. */
static void test_in_part(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = tapes_new(0, 5), *next = tapes_new(5, 10);

	tapes_store_init(&store);
	add_loss(tape, TAPE_LOSS_LOWERED, TAPE_ALL_CPUS, 2, 5, 300);
	add_loss(tape, TAPE_LOSS_SKIPPED, 1, 3, 4, 70);
	add_loss(next, TAPE_LOSS_LOWERED, TAPE_ALL_CPUS, 5, 6, 300);
	tapes_store_put(&store, tape);
	tapes_store_put(&store, next);
	check_said(store.path, 2, 6, NULL, 4, false,
		   ", 70 samples skipped, at most 300 samples a second allowed", "part");
	check_said(store.path, 2, 7, NULL, 5, false,
		   "at most 300 samples a second allowed by the kernel in part of the window",
		   NULL);
	check_said(store.path, 3.5, 5, NULL, 1.5, false, ", about 35 samples skipped", "part");
}

/* A short window gets its share of a long loss. The share may be 0. */
static void test_shares(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_selection) struct selection *all = NULL;
	struct tape *tape = tapes_new(0, 40);

	tapes_store_init(&store);
	add_loss(tape, TAPE_LOSS_SKIPPED, 1, 3, 4, 7);
	add_loss(tape, TAPE_LOSS_SKIPPED, 2, 3.25, 3.75, 90);
	add_loss(tape, TAPE_LOSS_SAMPLES, 1, 10, 40, 300);
	add_loss(tape, TAPE_LOSS_THROTTLED, 4, 6, 8, 6);
	add_loss(tape, TAPE_LOSS_SKIPPED, 4, 6, 8, 180);
	for (uint32_t cpu = 5; cpu < 9; cpu++)
		add_loss(tape, TAPE_LOSS_UNSAVED, cpu, 8, 10, 1);
	tapes_store_put(&store, tape);
	check_said(store.path, 3.1, 3.105, "1", 0.005, true, ", 0 samples lost", "did not come");
	check_said(store.path, 3, 4, NULL, 1, false, ", 97 samples skipped", "about");
	check_said(store.path, 3, 3.5, "1", 0.5, false, ", about 4 samples skipped", "part");
	check_said(store.path, 3, 3.5, "2", 0.5, false, ", about 45 samples skipped", "part");
	check_said(store.path, 12, 12.04, NULL, 0.04, true, ", 0 samples lost", "part");
	check_said(store.path, 9.5, 12, "1", 2.5, false, ", about 20 samples lost in part", "due");
	check_said(store.path, 6.5, 6.75, "4", 0.25, false, ", 1 time throttled", "part");
	check_said(store.path, 6.5, 6.75, "4", 0.25, false, ", about 23 samples skipped", "part");
	check_said(store.path, 7, 8, "4", 1, false,
		   ", about 90 samples skipped, "
		   "3 times throttled",
		   NULL);
	check_said(store.path, 8, 9, NULL, 1, false, ", 0 samples lost, about 2 samples unsaved",
		   "due");
	all = selected(store.path, 0, 40);
	CHECK_EQ(all->coverage.skipped, 277);
	CHECK(!all->coverage.skipped_over_edge && !all->coverage.lost_over_edge);
}

/*
 * The recorder did not run for a while. The answer reports this stall, which is not a gap, because
 * the ring buffers keep samples.
 */
static void test_held(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = tapes_new(0, 10);

	tapes_store_init(&store);
	add_loss(tape, TAPE_LOSS_STALLED_SIGNAL, TAPE_ALL_CPUS, 1, 4, 0);
	add_loss(tape, TAPE_LOSS_STALLED_CPU, TAPE_ALL_CPUS, 5, 8, 0);
	tapes_store_put(&store, tape);
	check_said(store.path, 0, 10, NULL, 10, true,
		   ", recorder stalled by a signal for at least 3 s, "
		   "recorder stalled without a CPU or frozen for at least 3 s",
		   NULL);
	check_said(store.path, 2, 5, "1", 3, true,
		   ", recorder stalled by a signal for at least 2 s", "frozen");
	check_said(store.path, 8, 10, NULL, 2, true, ", 0 samples lost", "recorder");
}

/* A list of segments reports the same losses as a walk over their samples. */
static void test_segments(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct window window = { .from_ns = AT(0), .to_ns = AT(5) };
	static const struct cpu_set_filter none;
	const struct recorded_losses losses = { .cpus = &none };
	struct store_segments segments = { 0 };
	struct coverage all = { 0 }, some = { 0 };
	struct tape *tape = tapes_new(0, 5);

	tapes_store_init(&store);
	add_loss(tape, TAPE_LOSS_SAMPLES, 0, 1, 2, 9);
	add_loss(tape, TAPE_LOSS_THROTTLED, 0, 2, 3, 20);
	add_loss(tape, TAPE_LOSS_SKIPPED, 0, 2, 3, 70);
	add_loss(tape, TAPE_LOSS_LOWERED, TAPE_ALL_CPUS, 2, 3, 300);
	add_loss(tape, TAPE_LOSS_OFFLINE, 1, 4, 5, 1);
	tapes_store_put(&store, tape);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, AT(0), AT(5), &segments, NULL), 0);
	CHECK_EQ(recorded_cover(reader, &segments, &window, &losses, &all, NULL), 0);
	CHECK_EQ(recorded_cover(reader, &segments, &window, NULL, &some, NULL), 0);
	CHECK_EQ(some.lost_samples, 9);
	CHECK_EQ(some.skipped, 0);
	CHECK_EQ(all.lost_samples, 9);
	CHECK_EQ(all.throttled, 20);
	CHECK_EQ(all.skipped, 70);
	CHECK_EQ(all.limit, 300);
	CHECK_EQ(all.offline, 1);
	CHECK_EQ(all.covered_ns, 5 * NSEC_PER_SEC);
	CHECK_EQ(all.gaps.count, 1);
	CHECK(!coverage_is_whole(&all));
	array_done(&all.gaps);
	array_done(&some.gaps);
	array_done(&segments.list);
}

#define SECONDS 6

/* A spool with its blocks, and the offset of each block's end. */
struct left {
	struct tapes_store store;
	char path[512];
	size_t ends[SECONDS];
};

static void find_spool(struct left *left)
{
	char folder[300];

	snprintf(folder, sizeof(folder), "%s/spool", left->store.path);
	find_only(folder, left->path, sizeof(left->path));
}

static void set_written(const char *path, uint64_t at_ns)
{
	struct timespec at = { at_ns / NSEC_PER_SEC, at_ns % NSEC_PER_SEC };

	CHECK_EQ(utimensat(AT_FDCWD, path, (struct timespec[]){ at, at }, 0), 0);
}

static void leave(struct left *left)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(spooling_done) struct spooling spooling;
	struct stat about;

	tapes_store_init(&left->store);
	CHECK_EQ(store_writer_open(left->store.path, &writer, NULL), 0);
	spooling_init(&spooling, store_writer_number(writer), 0);
	for (int i = 0; i < SECONDS; i++) {
		CHECK_EQ(spooling_put(&spooling, writer), 0);
		find_spool(left);
		CHECK_EQ(stat(left->path, &about), 0);
		left->ends[i] = about.st_size;
	}
}

static void left_done(struct left *left)
{
	tapes_store_done(&left->store);
}

/* Changes the byte, and then resets the file's time to that of its last write. */
static void damage(const struct left *left, size_t at, double written)
{
	int fd = open(left->path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	CHECK_EQ(pwrite(fd, &byte, 1, at), 1);
	close(fd);
	set_written(left->path, AT(written));
}

static int seal_it(void *context, struct store_writer *writer, struct tape *tape)
{
	(void)context;
	return store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL);
}

/* A reader of the damaged spool and the next writer report the same gap. */
static void check_hole(const struct left *left, double from, double to)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct store_recovered recovered;

	for (int sealed = 0; sealed < 2; sealed++) {
		_cleanup_(cleanup_selection) struct selection *all =
			selected(left->store.path, 0, SECONDS + 4);

		CHECK_EQ(all->coverage.covered_ns, AT(from) - AT(0));
		check_gap(&all->coverage, 0, from, to, DAMAGED);
		check_gap(&all->coverage, 1, to, SECONDS + 4, "the recorder was killed");
		CHECK_EQ(all->coverage.gaps.count, 2);
		if (sealed)
			break;
		CHECK_EQ(store_writer_open(left->store.path, &writer, NULL), 0);
		CHECK_EQ(store_writer_recover(writer, seal_it, NULL, &recovered, NULL), 0);
		CHECK_EQ(recovered.damaged, 1);
	}
}

/* The reader cannot decode the blocks after the damage. The gap ends where the last header says. */
static void test_damaged_block(void)
{
	_cleanup_(left_done) struct left left;

	leave(&left);
	damage(&left, left.ends[2] - 1, SECONDS);
	check_hole(&left, 2, SECONDS);
}

/*
 * The damaged header does not show where the gap ends. The gap ends at the time of the last write.
 */
static void test_last_header(void)
{
	_cleanup_(left_done) struct left left;

	leave(&left);
	damage(&left, left.ends[SECONDS - 2] + 20, SECONDS + 0.25);
	check_hole(&left, SECONDS - 1, SECONDS + 0.25);
}

/*
 * The modification time of a copy does not show where the gap ends. The gap is one second long, as
 * a block is.
 */
static void test_copied(void)
{
	_cleanup_(left_done) struct left left;

	leave(&left);
	damage(&left, left.ends[SECONDS - 2] + 20, 100000);
	check_hole(&left, SECONDS - 1, SECONDS);
}

static void test_torn(void)
{
	_cleanup_(left_done) struct left left;

	leave(&left);
	CHECK_EQ(truncate(left.path, left.ends[SECONDS - 1] - 3), 0);
	set_written(left.path, AT(SECONDS + 0.5));
	check_hole(&left, SECONDS - 1, SECONDS + 0.5);
}

static void check_percent(uint64_t covered_ns, uint64_t window_ns, const char *expected)
{
	const struct coverage coverage = { .window_ns = window_ns, .covered_ns = covered_ns };
	_cleanup_(buffer_done) struct buffer text = { 0 };

	coverage_describe(&coverage, &text);
	buffer_u8(&text, 0);
	if (strncmp((char *)text.data, expected, strlen(expected)) != 0)
		CHECK_FAIL("\"%s\" does not begin with \"%s\"", text.data, expected);
}

/* Only complete coverage is 100 %, and only no coverage at all is 0.0 %. */
static void test_percent(void)
{
	check_percent(0, 10000000, "covered 0.0 % (");
	check_percent(1, 10000000, "covered <0.1 % (");
	check_percent(10000, 10000000, "covered 0.1 % (");
	check_percent(9999999, 10000000, "covered 99.9 % (");
	check_percent(10000000, 10000000, "covered 100 %, ");
}

CHECK_MAIN({ "a stalled recorder is reported", test_held },
	   { "a list of segments knows all losses", test_segments },
	   { "an offline CPU is reported", test_offline },
	   { "more offline CPUs than a list has room for", test_many_offline },
	   { "limits in a part of the window", test_in_part },
	   { "a loss across an edge of the window is shared", test_shares },
	   { "a damaged stretch is a gap", test_stretches },
	   { "a window of microseconds is covered or not", test_short_window },
	   { "single damaged records are not a gap", test_single_records },
	   { "a CPU that was not recorded is a gap", test_left_out },
	   { "a CPU that the host lacks is not a gap", test_no_such_cpu },
	   { "a spool with a damaged block", test_damaged_block },
	   { "a spool without the header of its last block", test_last_header },
	   { "a copy of that spool", test_copied },
	   { "percentages of small and nearly whole windows", test_percent },
	   { "a spool with a torn last block", test_torn })
