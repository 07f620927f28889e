// SPDX-License-Identifier: GPL-2.0-only
/*
 * However a window is split, each sample of a random store is in exactly one part. Lines of JSON,
 * and the parts that filters select, also contain each sample once.
 */
#include "tests/check.h"

#include "flamescope-export/parts.h"
#include "query/sums/fold.h"
#include "query/text/json-samples.h"
#include "tests/hostile.h"
#include "tests/random-stores.h"

static const struct filter all;

static struct question question_of(const struct filter *filter)
{
	return (struct question){
		.filter = filter,
		.window = { .from_ns = TAPES_REALTIME,
			    .to_ns = TAPES_REALTIME + 15 * NSEC_PER_SEC },
	};
}

static uint64_t count_rows(struct store_reader *reader, const struct question *question)
{
	_cleanup_(cleanup_selection) struct selection *selection = NULL;

	CHECK_EQ(selection_make(reader, question, &selection, NULL), 0);
	return selection->rows.count;
}

/* Flamescope lists only files with such names. */
static void check_name(const char *name)
{
	CHECK(*name && strlen(name) < 255);
	CHECK_EQ(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"),
		 strlen(name));
}

static void check_parts(const struct selection *selection, enum parts_by by)
{
	_cleanup_(parts_done) struct parts parts = { 0 };
	size_t rows = 0;

	CHECK_EQ(parts_make(selection, by, &parts), 0);
	for (size_t i = 0; i < parts.list.count; i++) {
		const struct part *part = &parts.list.items[i];

		CHECK(part->selection.rows.count);
		CHECK_EQ(part->selection.window.from_ns, selection->window.from_ns);
		for (size_t row = 1; row < part->selection.rows.count; row++)
			CHECK(part->selection.rows.items[row - 1].realtime_ns <=
			      part->selection.rows.items[row].realtime_ns);
		rows += part->selection.rows.count;
		check_name(part->name);
		for (size_t other = 0; other < i; other++) {
			CHECK(strcmp(part->name, parts.list.items[other].name));
			CHECK(strcmp(part->title, parts.list.items[other].title));
		}
	}
	CHECK_EQ(rows, selection->rows.count);
}

static void test_parts(void)
{
	_cleanup_(cleanup_selection) struct selection *hostile = hostile_selection();
	struct tape *longer = tapes_new(0, 100);
	char name[400];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (size_t i = 0; i < 2; i++) {
		name[300] = '0' + i;
		tapes_sample(longer, TAPES_PERF + 99 * NSEC_PER_SEC, i,
			     tapes_thread(longer, 1 + i, 1 + i, name), 0);
	}
	selections_add(hostile, longer);
	check_parts(hostile, PARTS_COMM);
	for (int round = 0; round < 10; round++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
		_cleanup_(cleanup_selection) struct selection *selection = NULL;
		struct question question = question_of(&all);

		random_store_init(&store);
		CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
		CHECK_EQ(selection_make(reader, &question, &selection, NULL), 0);
		check_parts(selection, PARTS_CPU);
		check_parts(selection, PARTS_COMM);
		check_parts(selection, PARTS_PID);
	}
}

/*
 * Returns how many lines are samples. Each sample is in the window, and not before the previous
 * one; the last line is the coverage.
 */
static uint64_t check_lines(const char *text, const struct window *window)
{
	char last[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];
	uint64_t lines = 0;

	time_format(window->from_ns, true, 6, last);
	time_format(window->to_ns, true, 6, to);
	while (strncmp(text, "{\"time\":\"", 9) == 0) {
		char time[TIME_TEXT_SIZE];

		snprintf(time, sizeof(time), "%.27s", text + 9);
		CHECK(strcmp(last, time) <= 0 && strcmp(time, to) < 0);
		memcpy(last, time, sizeof(last));
		text = strchr(text, '\n') + 1;
		lines++;
	}
	CHECK_EQ(strncmp(text, "{\"coverage\":{", 13), 0);
	CHECK_EQ(strchr(text, '\n')[1], 0);
	return lines;
}

static void test_json(void)
{
	for (int round = 0; round < 10; round++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
		_cleanup_(cleanup_cursor) struct cursor *cursor = NULL;
		_cleanup_free_ char *text = NULL;
		struct question question = question_of(&all);
		uint64_t samples;

		random_store_init(&store);
		CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
		CHECK_EQ(cursor_open(reader, &question, &cursor, NULL), 0);
		text = SELECTIONS_TEXT(
			json_samples_write(cursor, &question.window, output, &samples, NULL));
		CHECK_EQ(samples, count_rows(reader, &question));
		CHECK_EQ(check_lines(text, &question.window), samples);
	}
}

static void test_filters(void)
{
	static const struct filter comms[] = { { .comm = ":*" },
					       { .comm = "k*" },
					       { .comm = "[!k:]*" } };

	for (int round = 0; round < 10; round++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
		struct question question = question_of(&all);
		uint64_t count, by_cpu = 0, by_comm = 0;

		random_store_init(&store);
		CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
		count = count_rows(reader, &question);
		for (int cpu = 0; cpu < 4; cpu++) {
			_cleanup_(filter_done) struct filter filter = { 0 };
			char list[8];

			snprintf(list, sizeof(list), "%d", cpu);
			CHECK_EQ(cpu_filter_parse(list, &filter.cpus, NULL), 0);
			question.filter = &filter;
			by_cpu += count_rows(reader, &question);
		}
		CHECK_EQ(by_cpu, count);
		for (size_t i = 0; i < ARRAY_SIZE(comms); i++) {
			question.filter = &comms[i];
			by_comm += count_rows(reader, &question);
		}
		CHECK_EQ(by_comm, count);
	}
}

/* A thread without a name has its number as its name. */
static void test_unnamed(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	static const struct filter number = { .comm = ":123" }, other = { .comm = ":12" };
	struct tape *tape = tapes_new(0, 10);
	struct question question = question_of(&number);

	tapes_sample(tape, TAPES_PERF, 0, tapes_thread(tape, 100, 123, ""), 0);
	tapes_sample(tape, TAPES_PERF, 1, tapes_thread(tape, 100, 124, "named"), 0);
	tapes_store_init(&store);
	tapes_store_put(&store, tape);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(count_rows(reader, &question), 1);
	question.filter = &other;
	CHECK_EQ(count_rows(reader, &question), 0);
}

static uint64_t count_frames(struct store_reader *reader, const struct question *question,
			     uint64_t *ret_samples)
{
	_cleanup_(cleanup_selection) struct selection *selection = NULL;

	CHECK_EQ(selection_make(reader, question, &selection, NULL), 0);
	*ret_samples = selection->rows.count;
	return selection->coverage.frames;
}

/* A frame belongs to the kernel or not. Leaving frames out leaves no sample out. */
static void test_frames(void)
{
	static const struct filter kernel = { .frames = FILTER_FRAMES_KERNEL },
				   user = { .frames = FILTER_FRAMES_USER };
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct question question = question_of(&all);
	uint64_t samples, of_kernel, of_user, frames;

	random_store_init(&store);
	tapes_store_put(&store, hostile_tape());
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	frames = count_frames(reader, &question, &samples);
	question.filter = &kernel;
	frames -= count_frames(reader, &question, &of_kernel);
	question.filter = &user;
	frames -= count_frames(reader, &question, &of_user);
	CHECK_EQ(frames, 0);
	CHECK_EQ(of_kernel, samples);
	CHECK_EQ(of_user, samples);
}

/* User code, a system call of that code, an idle CPU, and an interrupt on an idle CPU. */
static struct tape *mixed_tape(void)
{
	struct tape *tape = tapes_new(0, 10);
	uint32_t idle = tapes_thread(tape, 0, 0, "swapper/0"), busy = tapes_thread(tape, 7, 8, "p");
	uint32_t program = tapes_module(tape, "/bin/p", TAPE_MODULE_ELF);
	uint32_t kernel = tapes_module(tape, "[kernel.kallsyms]", TAPE_MODULE_KERNEL);
	uint32_t main_at = tapes_call(tape, 0, program, 0x10, "main");
	uint32_t call = tapes_call(tape, main_at, kernel, 0x20, "do_syscall_64");

	tapes_sample(tape, TAPES_PERF, 0, busy, main_at);
	tapes_sample(tape, TAPES_PERF + 1000, 0, busy,
		     tapes_call(tape, call, kernel, 0x30, "read"));
	tapes_sample(
		tape, TAPES_PERF + 2000, 0, idle,
		tapes_kernel(tape,
			     "cpu_startup_entry;do_idle;cpuidle_enter_state;native_safe_halt"));
	tapes_sample(tape, TAPES_PERF + 3000, 0, idle,
		     tapes_kernel(tape, "cpu_startup_entry;do_idle;cpuidle_enter_state;"
					"asm_common_interrupt;common_interrupt;ena_intr_msix_io"));
	return tape;
}

static void check_folded(struct store_reader *reader, const struct filter *filter,
			 const char *expected)
{
	_cleanup_(fold_done) struct fold fold = { 0 };
	struct fold_options options = { .question = question_of(filter), .threads = 1 };
	_cleanup_free_ char *text = NULL;

	CHECK_EQ(fold_run(reader, &options, &fold, NULL), 0);
	text = SELECTIONS_TEXT(folded_write(fold.folded, output));
	CHECK_STR(text, expected);
}

static void test_kept(void)
{
	static const struct filter kernel = { .frames = FILTER_FRAMES_KERNEL, .no_idle = true },
				   user = { .frames = FILTER_FRAMES_USER },
				   busy = { .no_idle = true };
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;

	tapes_store_init(&store);
	tapes_store_put(&store, mixed_tape());
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	check_folded(reader, &kernel,
		     "p 1\np;do_syscall_64;read 1\n"
		     "swapper/0;cpu_startup_entry;do_idle;cpuidle_enter_state;asm_common_interrupt;"
		     "common_interrupt;ena_intr_msix_io 1\n");
	check_folded(reader, &user, "p;main 2\nswapper/0 2\n");
	check_folded(reader, &busy,
		     "p;main 1\np;main;do_syscall_64;read 1\n"
		     "swapper/0;cpu_startup_entry;do_idle;cpuidle_enter_state;asm_common_interrupt;"
		     "common_interrupt;ena_intr_msix_io 1\n");
}

CHECK_MAIN({ "each sample is in one part", test_parts },
	   { "each sample is one line of JSON", test_json },
	   { "each sample passes one of the filters", test_filters },
	   { "a thread without a name is its number", test_unnamed },
	   { "frames are the kernel's or not", test_frames },
	   { "stacks with frames left out", test_kept })
