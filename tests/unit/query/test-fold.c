// SPDX-License-Identifier: GPL-2.0-only
/* Folding with threads counts samples exactly. test-golden.c compares the lines. */
#include "tests/check.h"

#include "query/read/cursor.h"
#include "query/read/window-filter.h"
#include "query/sums/fold.h"
#include "tests/random-stores.h"
#include "tests/selections.h"

static const struct filter all;

static struct store_reader *open_reader(const struct tapes_store *store)
{
	struct store_reader *reader;

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	return reader;
}

static struct fold_options everything(enum folded_weight weight, unsigned int threads)
{
	return (struct fold_options){
		.question = { .window = { .to_ns = UINT64_MAX }, .filter = &all },
		.weight = weight,
		.threads = threads,
	};
}

static struct fold run(struct store_reader *reader, const struct fold_options *options)
{
	struct fold fold = { 0 };

	CHECK_EQ(fold_run(reader, options, &fold, NULL), 0);
	return fold;
}

/* Returns the lines; the caller frees them. */
static char *folded_text(const struct folded *folded)
{
	return SELECTIONS_TEXT(folded_write(folded, output));
}

static char *text_of(struct store_reader *reader, const struct fold_options *options)
{
	_cleanup_(fold_done) struct fold fold = run(reader, options);

	return folded_text(fold.folded);
}

/* Adds up the numbers of the lines, which must be sorted and differ. */
static uint64_t add_lines(const char *text)
{
	_cleanup_free_ char *last = NULL;
	uint64_t sum = 0;

	while (*text) {
		const char *end = strchr(text, '\n'), *blank = memrchr(text, ' ', end - text);
		char *line = strndup(text, blank - text);

		CHECK(!last || strcmp(last, line) < 0);
		free(last);
		last = line;
		sum += strtoull(blank + 1, NULL, 10);
		text = end + 1;
	}
	return sum;
}

struct weights {
	uint64_t samples, period;
	uint64_t frames, named;
};

static struct weights count_samples(struct store_reader *reader, const struct question *question)
{
	_cleanup_(cleanup_cursor) struct cursor *cursor = NULL;
	struct weights weights = { 0 };
	struct cursor_row row;

	CHECK_EQ(cursor_open(reader, question, &cursor, NULL), 0);
	while (cursor_next(cursor, &row, NULL) > 0) {
		weights.samples++;
		weights.period += row.tape->samples.items[row.sample].period;
	}
	weights.frames = cursor_coverage(cursor)->frames;
	weights.named = cursor_coverage(cursor)->named;
	return weights;
}

static void check_frames(struct store_reader *reader, const struct fold_options *options,
			 const struct weights *expected)
{
	_cleanup_(fold_done) struct fold fold = run(reader, options);

	CHECK_EQ(fold.coverage.frames, expected->frames);
	CHECK_EQ(fold.coverage.named, expected->named);
}

/* Neither the number of threads nor the use of sums instead of samples changes the result. */
static void test_is_counting(void)
{
	for (int round = 0; round < 10; round++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
		_cleanup_free_ char *one = NULL, *three = NULL, *filtered = NULL, *period = NULL;
		_cleanup_(filter_done) struct filter every_cpu = { 0 };
		struct fold_options options = everything(FOLDED_SAMPLES, 1);
		struct weights expected;

		random_store_init(&store);
		reader = open_reader(&store);
		expected = count_samples(reader, &options.question);
		one = text_of(reader, &options);
		CHECK_EQ(add_lines(one), expected.samples);
		check_frames(reader, &options, &expected);
		options.threads = 3;
		check_frames(reader, &options, &expected);
		three = text_of(reader, &options);
		CHECK_STR(three, one);
		options.weight = FOLDED_PERIOD;
		period = text_of(reader, &options);
		CHECK_EQ(add_lines(period), expected.period);
		check_frames(reader, &options, &expected);
		/* sums do not distinguish CPUs */
		CHECK_EQ(cpu_filter_parse("0-99", &every_cpu.cpus, NULL), 0);
		options.weight = FOLDED_SAMPLES;
		options.question.filter = &every_cpu;
		filtered = text_of(reader, &options);
		CHECK_STR(filtered, one);
	}
}

static void test_window_and_comm(void)
{
	static const struct filter kernel = { .comm = "kworker*" }, others = { .comm = "[!k:]*" },
				   kubelet = { .comm = "kubelet" }, unnamed = { .comm = ":*" };
	const struct filter *const parts[] = { &kernel, &others, &kubelet, &unnamed };

	for (int round = 0; round < 10; round++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
		struct fold_options options = everything(FOLDED_SAMPLES, 2);
		uint64_t sum = 0, expected;

		random_store_init(&store);
		reader = open_reader(&store);
		options.question.window.from_ns = TAPES_REALTIME + random_below(20) * NSEC_PER_SEC;
		options.question.window.to_ns = options.question.window.from_ns + 10 * NSEC_PER_SEC;
		expected = count_samples(reader, &options.question).samples;
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			_cleanup_free_ char *text = NULL;

			options.question.filter = parts[i];
			text = text_of(reader, &options);
			CHECK_EQ(add_lines(text), count_samples(reader, &options.question).samples);
			sum += add_lines(text);
		}
		CHECK_EQ(sum, expected);
	}
}

static struct tape *calls(unsigned int begin, const char *comm, const char *functions)
{
	struct tape *tape = tapes_new(begin, begin + 1);

	tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 1, 7, comm),
		     tapes_kernel(tape, functions));
	return tape;
}

/*
 * Lines are sorted as texts. In this store, one name is a prefix of another, and one line is a
 * prefix of others.
 */
static void test_order_of_lines(void)
{
	static const char *const functions[] = { "x",	 "x;z", "x y",	  "x y;a", "x:",
						 "x!;b", "x!",	"\x80;b", "x;z",   "" };
	_cleanup_(cleanup_folded) struct folded *folded = NULL, *other = NULL;
	_cleanup_free_ char *text = NULL;

	CHECK_EQ(folded_new(&folded), 0);
	CHECK_EQ(folded_new(&other), 0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(functions); i++) {
		_cleanup_(cleanup_tape) struct tape *tape =
			calls(i, i % 3 ? "c" : "c d", functions[i / 2]);

		CHECK_EQ(folded_add_samples(i % 2 ? folded : other, tape, FOLDED_SAMPLES), 0);
	}
	CHECK_EQ(folded_merge(folded, other), 0);
	text = folded_text(folded);
	CHECK_EQ(add_lines(text), 2 * ARRAY_SIZE(functions));
}

/* There are enough lines to be sorted in parts, and they have long common beginnings. */
static void test_order_of_many_lines(void)
{
	static const char *const names[] = { "a",	  "a b",	"a:", "aaaaaaaa",
					     "aaaaaaaab", "aaaaaaaa b", "b",  "\xc3\xa4" };
	_cleanup_(cleanup_folded) struct folded *folded = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 1);
	_cleanup_free_ char *text = NULL;

	for (int i = 0; i < 20000; i++) {
		char functions[128] = "";

		for (int depth = random_below(10); depth >= 0; depth--) {
			strcat(functions, names[random_below(ARRAY_SIZE(names))]);
			strcat(functions, depth ? ";" : "");
		}
		tapes_sample(tape, tape->begin_ns + i * NSEC_PER_USEC, 0,
			     tapes_thread(tape, 1, 7, i % 2 ? "c" : "c d"),
			     tapes_kernel(tape, functions));
	}
	CHECK_EQ(folded_new(&folded), 0);
	CHECK_EQ(folded_add_samples(folded, tape, FOLDED_SAMPLES), 0);
	text = folded_text(folded);
	CHECK(folded->lines.count > 1000);
	CHECK_EQ(add_lines(text), 20000);
}

struct watched {
	uint64_t last;
	bool is_wrong;
};

/*
 * progress() is called for each segment, by one thread at a time. CHECK works only in the test's
 * own thread.
 */
static void watch(void *context, uint64_t done, uint64_t of)
{
	struct watched *watched = context;

	if (done != watched->last + 1 || done > of)
		watched->is_wrong = true;
	watched->last = done;
}

static void test_progress(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(fold_done) struct fold fold = { 0 };
	_cleanup_free_ char *text = NULL;
	struct fold_options options = everything(FOLDED_SAMPLES, 4);
	struct watched watched = { 0 };

	tapes_store_init(&store);
	for (unsigned int i = 0; i < 9; i++)
		tapes_store_put(&store, calls(i, "c", "f"));
	options.progress = watch;
	options.progress_context = &watched;
	reader = open_reader(&store);
	fold = run(reader, &options);
	text = folded_text(fold.folded);
	CHECK_STR(text, "c;f 9\n");
	CHECK_EQ(fold.samples, 9);
	CHECK_EQ(fold.segments, 9);
	CHECK_EQ(fold.coverage.frames, 9);
	CHECK_EQ(fold.coverage.named, 9);
	CHECK_EQ(watched.last, 9);
	CHECK(!watched.is_wrong);
}

static void test_damage(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(fold_done) struct fold fold = { 0 };
	struct fold_options options = everything(FOLDED_SAMPLES, 2);
	char command[256];

	tapes_store_init(&store);
	for (unsigned int i = 0; i < 3; i++)
		tapes_store_put(&store, calls(i, "c", "f"));
	snprintf(command, sizeof(command),
		 "truncate -s 300 \"$(ls '%s'/segments/*.tape | head -1)\"", store.path);
	CHECK_EQ(system(command), 0);
	reader = open_reader(&store);
	fold = run(reader, &options);
	CHECK_EQ(fold.samples, 2);
	CHECK_EQ(fold.coverage.damaged, 1);
	CHECK_EQ(fold.segments, 2);
}

/* "comm;OUTERMOST;...;LEAF" with named and unnamed frames in modules of each kind. */
static void test_marks(void)
{
	static const struct {
		unsigned int marks;
		const char *text;
	} rows[] = {
		{ 0, "x;[unknown];[libx:.so];f;[perf-7.map];jitted;[kernel.kallsyms];entry 1\n" },
		{ FOLDED_MARK_KERNEL, "x;[unknown];[libx:.so];f;[perf-7.map];jitted;"
				      "[kernel.kallsyms]_[k];entry_[k] 1\n" },
		{ FOLDED_MARK_JIT, "x;[unknown];[libx:.so];f;[perf-7.map]_[j];jitted_[j];"
				   "[kernel.kallsyms];entry 1\n" },
		{ FOLDED_MARK_KERNEL | FOLDED_MARK_JIT,
		  "x;[unknown];[libx:.so];f;[perf-7.map]_[j];jitted_[j];"
		  "[kernel.kallsyms]_[k];entry_[k] 1\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10);
		_cleanup_(cleanup_folded) struct folded *folded = NULL, *other = NULL;
		uint32_t elf = tapes_module(tape, "/usr/lib/libx;.so (deleted)", TAPE_MODULE_ELF);
		uint32_t jit = tapes_module(tape, "/tmp/perf-7.map", TAPE_MODULE_JIT);
		uint32_t kernel = tapes_module(tape, "[kernel.kallsyms]", TAPE_MODULE_KERNEL);
		uint32_t stack = tapes_call(tape, 0, 0, 0, "");
		_cleanup_free_ char *text = NULL;
		struct coverage coverage = { 0 };

		stack = tapes_call(tape, stack, elf, 1, "");
		stack = tapes_call(tape, stack, elf, 2, "f");
		stack = tapes_call(tape, stack, jit, 3, "");
		stack = tapes_call(tape, stack, jit, 4, "jitted");
		stack = tapes_call(tape, stack, kernel, 5, "");
		stack = tapes_call(tape, stack, kernel, 6, "entry");
		tapes_sample(tape, TAPES_PERF, 0, tapes_thread(tape, 1, 1, "x"), stack);
		CHECK_EQ(folded_new(&folded), 0);
		CHECK_EQ(folded_new(&other), 0);
		other->marks = rows[i].marks;
		CHECK_EQ(folded_add_samples(other, tape, FOLDED_SAMPLES), 0);
		CHECK_EQ(folded_merge(folded, other), 0);
		text = folded_text(folded);
		CHECK_STR(text, rows[i].text);
		CHECK_EQ(window_filter_count_samples(tape, &coverage), 0);
		CHECK_EQ(coverage.frames, 7);
		CHECK_EQ(coverage.named, 3);
	}
}

CHECK_MAIN({ "folding counts each sample", test_is_counting },
	   { "windows and comms split the samples", test_window_and_comm },
	   { "lines are sorted", test_order_of_lines },
	   { "many lines are sorted", test_order_of_many_lines },
	   { "progress comes for each segment", test_progress },
	   { "a segment that cannot be read is left out", test_damage },
	   { "marks, and files instead of names", test_marks })
