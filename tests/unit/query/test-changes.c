// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes between two windows: which rows there are, how they rank, and that chance alone marks few
 * of them.
 */
#include "tests/check.h"

#include <math.h>

#include "base/clock.h"
#include "query/diff/changes.h"
#include "query/diff/flame-pair.h"
#include "tests/random.h"
#include "tests/tapes.h"

#define WINDOW_NS (10 * NSEC_PER_SEC)
#define SAMPLE_NS (NSEC_PER_SEC / 97)

/* A row of a window: its name and the number of its samples. */
struct given {
	const char *name;
	uint64_t samples;
};

/* Gives a row that `threads` threads share evenly. */
static void give(struct tally *tally, const char *name, uint64_t samples, unsigned int threads)
{
	const struct stack_class spent = { .ns = { [STACK_CLASS_USER] = samples * SAMPLE_NS } };
	uint32_t id;

	CHECK_EQ(tally_name(tally, name, strlen(name), &id), 0);
	stack_class_add(&tally->groups.items[id], &spent);
	tally->functions.items[id].self_ns += samples * SAMPLE_NS;
	stack_class_add(&tally->all, &spent);
	for (unsigned int i = 0; i < threads; i++) {
		const struct tally_row thread = { 1, i, id, samples * SAMPLE_NS / threads };

		CHECK_EQ(tally_add_thread(tally, &thread, &(struct tally_place){ i, 0 }), 0);
	}
}

static struct tally *tally_of(const struct given *rows, size_t count)
{
	struct tally *tally;

	CHECK_EQ(tally_new(&tally), 0);
	tally->sample_ns = SAMPLE_NS;
	for (size_t i = 0; i < count; i++)
		give(tally, rows[i].name, rows[i].samples, 1);
	return tally;
}

static struct changes compare(const struct tally *before, const struct tally *after,
			      enum changes_by by, bool parts)
{
	const struct changes_side earlier = { before, WINDOW_NS, WINDOW_NS },
				  later = { after, WINDOW_NS, WINDOW_NS };
	struct changes changes;

	CHECK_EQ(changes_make(by, parts, &earlier, &later, &changes), 0);
	return changes;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 0.01;
}

/* The largest change comes first; rows of one side alone count, and idle names do not. */
static void test_ranked(void)
{
	static const struct given before[] = {
		{ "kubelet", 10 }, { "train", 900 }, { "gone", 300 }, { "idle", 0 }
	};
	static const struct given after[] = { { "kubelet", 700 }, { "train", 910 }, { "new", 2 } };
	_cleanup_(cleanup_tally) struct tally *earlier = tally_of(before, 4),
					      *later = tally_of(after, 3);
	_cleanup_(changes_done) struct changes changes =
		compare(earlier, later, CHANGES_BY_NAME, false);

	CHECK_EQ(changes.rows.count, 4);
	CHECK_STR(changes.rows.items[0].name, "kubelet");
	CHECK(changes.rows.items[0].stands_out);
	CHECK(is_near(changes.rows.items[0].before.cpus, 0.01));
	CHECK(is_near(changes.rows.items[0].after.cpus, 0.72));
	CHECK(is_near(changes.rows.items[0].after.part, 700.0 / 1612));
	CHECK_STR(changes.rows.items[1].name, "gone");
	CHECK(changes.rows.items[1].stands_out);
	CHECK(changes.rows.items[1].after.cpus == 0);
	CHECK_STR(changes.rows.items[2].name, "train");
	CHECK(!changes.rows.items[2].stands_out);
	CHECK_STR(changes.rows.items[3].name, "new");
	CHECK(!changes.rows.items[3].stands_out);
}

/* A host with twice the load has the same parts. */
static void test_parts(void)
{
	static const struct given before[] = { { "a", 400 }, { "b", 100 } };
	static const struct given after[] = { { "a", 800 }, { "b", 200 } };
	_cleanup_(cleanup_tally) struct tally *earlier = tally_of(before, 2),
					      *later = tally_of(after, 2);
	_cleanup_(changes_done) struct changes absolute =
		compare(earlier, later, CHANGES_BY_FUNCTION, false);
	_cleanup_(changes_done) struct changes parts =
		compare(earlier, later, CHANGES_BY_FUNCTION, true);

	CHECK(absolute.rows.items[0].stands_out);
	CHECK(!parts.rows.items[0].stands_out);
	CHECK(!parts.rows.items[1].stands_out);
	CHECK(is_near(changes_of(&parts, &parts.rows.items[0]), 0));
}

static void test_cpus(void)
{
	_cleanup_(cleanup_tally) struct tally *earlier = tally_of(NULL, 0),
					      *later = tally_of(NULL, 0);
	struct changes changes;

	CHECK_EQ(tally_cpu(earlier, 1), 0);
	CHECK_EQ(tally_cpu(later, 3), 0);
	earlier->cpus.items[1].ns[STACK_CLASS_IDLE] = WINDOW_NS;
	later->cpus.items[3].ns[STACK_CLASS_KERNEL] = WINDOW_NS;
	changes = compare(earlier, later, CHANGES_BY_CPU, false);
	CHECK_EQ(changes.rows.count, 1);
	CHECK(!changes.rows.items[0].name);
	CHECK_EQ(changes.rows.items[0].cpu, 3);
	CHECK(changes.rows.items[0].stands_out);
	changes_done(&changes);
}

#define ROWS 40
#define ROUNDS 400
#define TICKS 970

/*
 * Gives a window of `threads` threads for each row. At each tick of the timer, all threads of a row
 * run or none, as those of a job that computes in steps do.
 */
static struct tally *random_tally(unsigned int threads)
{
	struct tally *tally = tally_of(NULL, 0);
	char name[16];

	for (unsigned int row = 0; row < ROWS; row++) {
		uint64_t samples = 0;

		for (unsigned int tick = 0; tick < TICKS; tick++)
			samples += random_below(ROWS + row) < row ? threads : 0;
		snprintf(name, sizeof(name), "row %u", row);
		give(tally, name, samples, threads);
	}
	return tally;
}

/* Returns the number of comparisons of equal loads in which chance marks any row. */
static unsigned int count_marked(unsigned int threads, bool parts)
{
	unsigned int marked = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		_cleanup_(cleanup_tally) struct tally *before = random_tally(threads),
						      *after = random_tally(threads);
		_cleanup_(changes_done) struct changes changes =
			compare(before, after, CHANGES_BY_NAME, parts);

		marked += changes.rows.items[0].stands_out;
	}
	return marked;
}

/* Equal loads are marked in at most 5 % of the comparisons, also with samples that depend. */
static void test_chance(void)
{
	CHECK(count_marked(1, false) <= ROUNDS / 20);
	CHECK(count_marked(1, true) <= ROUNDS / 20);
	CHECK(count_marked(48, false) <= ROUNDS / 20);
	CHECK(count_marked(48, true) <= ROUNDS / 20);
}

static struct folded *folded_of(const char *stack, unsigned int samples, const char *also)
{
	struct tape *tape = tapes_new(0, 1);
	uint32_t thread = tapes_thread(tape, 7, 7, "x"), calls = tapes_kernel(tape, stack),
		 others = tapes_kernel(tape, also);
	struct folded *folded;

	while (samples--)
		tapes_sample(tape, TAPES_PERF, 0, thread, calls);
	tapes_sample(tape, TAPES_PERF, 0, thread, others);
	CHECK_EQ(folded_new(&folded), 0);
	folded->kinds = true;
	CHECK_EQ(folded_add_samples(folded, tape, FOLDED_SAMPLES), 0);
	tape_free(tape);
	return folded;
}

static const struct flame_frame *frame_of(const struct flame *flame, const char *name)
{
	for (size_t i = 0; i < flame->frames.count; i++)
		if (strcmp(flame->frames.items[i].name, name) == 0)
			return &flame->frames.items[i];
	CHECK_FAIL("no frame %s", name);
	return NULL;
}

/*
 * A frame is as wide as both sides together, each scaled. A frame that only the earlier side has is
 * there, too.
 */
static void test_flame_pair(void)
{
	_cleanup_(cleanup_folded) struct folded *before = folded_of("a;b", 3, "gone"),
						*after = folded_of("a;c", 5, "new");
	const struct flame_side earlier = { before, 10 }, later = { after, 2 };
	_cleanup_(flame_pair_done) struct flame_pair pair = { 0 };
	_cleanup_(flame_done) struct flame flame = { 0 };
	struct flame_options options = { .frames_max = 100 };

	CHECK_EQ(flame_pair_make(&earlier, &later, &pair), 0);
	options.earlier = pair.earlier.items;
	CHECK_EQ(flame_make(pair.folded, &options, &flame), 0);
	CHECK_EQ(flame.frames.items[0].samples, 40 + 12);
	CHECK_EQ(flame.frames.items[0].earlier, 40);
	CHECK_EQ(frame_of(&flame, "a")->samples, 30 + 10);
	CHECK_EQ(frame_of(&flame, "a")->earlier, 30);
	CHECK_EQ(frame_of(&flame, "b")->earlier, 30);
	CHECK_EQ(frame_of(&flame, "c")->earlier, 0);
	CHECK_EQ(frame_of(&flame, "c")->samples, 10);
	CHECK_EQ(frame_of(&flame, "gone")->samples, 10);
	CHECK_EQ(frame_of(&flame, "gone")->earlier, 10);
	CHECK_EQ(frame_of(&flame, "new")->earlier, 0);
}

CHECK_MAIN({ "the largest change comes first", test_ranked },
	   { "parts of the busy time", test_parts }, { "CPUs", test_cpus },
	   { "chance marks few rows", test_chance }, { "stacks of two windows", test_flame_pair })
