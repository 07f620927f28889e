// SPDX-License-Identifier: GPL-2.0-only
/* Loads above the usual are added up over a store, ranked and drawn. */
#include "tests/check.h"

#include <math.h>

#include "draw/text.h"
#include "draw/top.h"
#include "query/read/scan.h"
#include "query/sums/tally-tape.h"
#include "tests/golden.h"
#include "tests/hostile.h"

#define PARTS (TALLY_CPUS | TALLY_NAMES | TALLY_DETAILS)

static const struct filter all;

/*
 * 97 samples per second on two CPUs. The load of the first CPU is the usual one. From one moment
 * on, dd keeps the second CPU busy.
 */
static struct tape *busy_tape(unsigned int begin, unsigned int end, unsigned int dd_begin)
{
	struct tape *tape = tapes_new(begin, end);
	uint32_t server = tapes_thread(tape, 40, 41, "server"),
		 dd = tapes_thread(tape, 50, 50, "dd"),
		 idle = tapes_thread(tape, 0, 0, "swapper/1");
	uint32_t program = tapes_module(tape, "/usr/bin/server", TAPE_MODULE_ELF);
	uint32_t serve =
		tapes_call(tape, tapes_call(tape, 0, program, 16, "main"), program, 32, "serve");
	uint32_t net = tapes_kernel(tape, "asm_common_interrupt;__do_softirq;net_rx_action");
	uint32_t halt = tapes_kernel(tape, "do_idle;native_safe_halt");
	uint32_t zero = tapes_kernel(tape, "do_syscall_64;vfs_read;read_zero");

	CHECK_EQ(tape_add_fact(tape, "cpus", "2"), 0);
	for (uint64_t i = 0; i < 97ull * (end - begin); i++) {
		uint64_t ns = tape->begin_ns + i * NSEC_PER_SEC / 97 / 1000 * 1000;

		tapes_sample(tape, ns, 0, i % 4 ? idle : server,
			     i % 4   ? halt
			     : i % 8 ? serve
				     : net);
		if (ns >= TAPES_PERF + dd_begin * NSEC_PER_SEC)
			tapes_sample(tape, ns, 1, dd, zero);
		else
			tapes_sample(tape, ns, 1, idle, halt);
	}
	return tape;
}

struct answer {
	struct tally *tally;
	struct scanned scanned;
	struct baseline baseline;
	struct ranking ranking;
};

static void answer_done(struct answer *answer)
{
	tally_free(answer->tally);
	scanned_done(&answer->scanned);
	baseline_done(&answer->baseline);
	ranking_done(&answer->ranking);
}

struct adding {
	struct tally *tallies[4];
};

static int add(void *context, unsigned int worker, const struct store_segment *segment,
	       const struct tape *tape, const struct window_filter_times *times)
{
	struct adding *adding = context;

	return tally_add_samples(adding->tallies[worker], tape, times->kinds,
				 stack_class_sample_ns(tape, segment->samples), PARTS);
}

/* from and to are seconds after TAPES_REALTIME. */
static struct answer ask(const struct tapes_store *store, const struct filter *filter,
			 unsigned int from, unsigned int to)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct answer answer = { 0 };
	struct adding adding;
	const struct question question = {
		.window = { .from_ns = TAPES_REALTIME + from * NSEC_PER_SEC,
			    .to_ns = TAPES_REALTIME + to * NSEC_PER_SEC },
		.filter = filter,
	};
	const struct scan_options scan = {
		.question = question, .threads = 4, .add = add, .context = &adding
	};
	const struct baseline_options usual = { question, TALLY_BY_NAME, 3600 * NSEC_PER_SEC,
						NSEC_PER_SEC * 60, 4 };

	for (int i = 0; i < 4; i++)
		CHECK_EQ(tally_new(&adding.tallies[i]), 0);
	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(scan_run(reader, &scan, &answer.scanned, NULL), 0);
	for (int i = 1; i < 4; i++) {
		CHECK_EQ(tally_merge(adding.tallies[0], adding.tallies[i]), 0);
		tally_free(adding.tallies[i]);
	}
	answer.tally = adding.tallies[0];
	CHECK_EQ(baseline_make(reader, &usual, &answer.baseline, NULL), 0);
	CHECK_EQ(ranking_make(answer.tally, answer.scanned.coverage.covered_ns, &answer.baseline,
			      &answer.ranking),
		 0);
	return answer;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 0.015;
}

static const struct ranking_function *function_row(const struct ranking *ranking, const char *name)
{
	for (size_t i = 0; i < ranking->functions.count; i++)
		if (!strcmp(ranking->functions.items[i].name, name))
			return &ranking->functions.items[i];
	CHECK_FAIL("no function %s", name);
	return NULL;
}

/* Three segments of 60 s; dd starts in the third. */
static void put_usual_store(struct tapes_store *store)
{
	tapes_store_init(store);
	for (unsigned int i = 0; i < 3; i++)
		tapes_store_put(store, busy_tape(60 * i, 60 * i + 60, 140));
}

static void check_dd(const struct answer *answer)
{
	const struct ranking *ranking = &answer->ranking;
	const struct ranking_core *core = &ranking->cores.items[0];
	const struct ranking_group *group = &ranking->groups.items[0];
	const struct ranking_function *function = &ranking->functions.items[0];

	CHECK(core->cpu == 1 && core->stands_out && is_near(core->now.kernel, 1));
	CHECK(is_near(core->now.all, 1) && is_near(core->usual.all, 0));
	CHECK_STR(core->group, "dd");
	CHECK_STR(core->function, "read_zero");
	CHECK_STR(group->name, "dd");
	CHECK(group->stands_out && is_near(group->now.all, 1) && group->threads == 1);
	CHECK(group->pid == 50 && group->tid == 50 && group->cpu == 1);
	CHECK_STR(function->name, "read_zero");
	CHECK(function->stands_out && function->kernel && is_near(function->self, 1));
}

static void test_store(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(answer_done) struct answer answer = { 0 };
	const struct ranking *ranking = &answer.ranking;

	put_usual_store(&store);
	answer = ask(&store, &all, 150, 160);
	CHECK_EQ(answer.baseline.segments, 2);
	CHECK_EQ(answer.baseline.names_ns, 120 * NSEC_PER_SEC);
	CHECK_EQ(answer.baseline.cpus_ns, 20 * NSEC_PER_SEC);
	CHECK_EQ(answer.baseline.tally->samples, 2 * 97 * 120);
	check_dd(&answer);
	/* the usual load does not stand out: a quarter of a CPU, half of it interrupts */
	CHECK(!ranking->cores.items[1].stands_out && !ranking->groups.items[1].stands_out);
	CHECK(is_near(ranking->cores.items[1].now.user, 0.125));
	CHECK(is_near(ranking->cores.items[1].usual.irq, 0.125));
	CHECK(is_near(function_row(ranking, "serve")->usual_self, 0.125));
	CHECK(is_near(function_row(ranking, "main")->total, 0.125));
	CHECK(function_row(ranking, "main")->self == 0);
	CHECK(is_near(ranking->now.all, 1.25) && is_near(ranking->usual.all, 0.25));
}

/* Small new loads do not push a CPU that is always saturated off the screen. */
static void test_always_busy(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(answer_done) struct answer answer = { 0 };
	const struct ranking_core *cores;
	struct tape *tape = tapes_new(0, 60);
	uint32_t poll = tapes_thread(tape, 5, 5, "poll"), small = tapes_thread(tape, 6, 6, "small");
	uint32_t stack = tapes_kernel(tape, "x;y");

	for (uint64_t i = 0; i < 97 * 60; i++) {
		uint64_t ns = tape->begin_ns + i * NSEC_PER_SEC / 97 / 1000 * 1000;

		tapes_sample(tape, ns, 0, poll, stack);
		for (uint32_t cpu = 1; i >= 97 * 40 && i % 20 == 0 && cpu < 9; cpu++)
			tapes_sample(tape, ns, cpu, small, stack);
	}
	tapes_store_init(&store);
	tapes_store_put(&store, tape);
	answer = ask(&store, &all, 40, 60);
	cores = answer.ranking.cores.items;
	CHECK(cores[0].cpu == 0 && !cores[0].stands_out && is_near(cores[0].now.all, 1));
	CHECK(cores[1].cpu == 1 && cores[1].stands_out && is_near(cores[1].now.all, 0.05));
}

/* In a store of one segment, the rest of that segment is the baseline. */
static void test_one_segment(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(answer_done) struct answer answer = { 0 };

	tapes_store_init(&store);
	tapes_store_put(&store, busy_tape(0, 60, 40));
	answer = ask(&store, &all, 40, 60);
	CHECK_EQ(answer.baseline.segments, 1);
	CHECK_EQ(answer.baseline.names_ns, 40 * NSEC_PER_SEC);
	check_dd(&answer);
}

static void test_nothing_usual(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(answer_done) struct answer answer = { 0 };

	tapes_store_init(&store);
	tapes_store_put(&store, busy_tape(0, 10, 0));
	answer = ask(&store, &all, 0, 10);
	CHECK(!answer.ranking.compared && !answer.baseline.segments);
	CHECK_EQ(answer.ranking.cores.items[0].cpu, 1);
	CHECK(!answer.ranking.cores.items[0].stands_out);
}

/* Sums do not support this filter, so the usual load comes from samples too. */
static void test_filter(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(answer_done) struct answer answer = { 0 };

	put_usual_store(&store);
	CHECK_EQ(cpu_filter_parse("0", &filter.cpus, NULL), 0);
	answer = ask(&store, &filter, 150, 160);
	CHECK_EQ(answer.ranking.cores.count, 1);
	CHECK_EQ(answer.baseline.names_ns, 20 * NSEC_PER_SEC);
	CHECK(is_near(answer.ranking.now.all, 0.25) && is_near(answer.ranking.usual.all, 0.25));
}

/* A function that is in a stack several times counts once. */
/* The filter removes functions, but not the time of CPUs and threads. */
static void test_frames(void)
{
	static const struct filter user = { .frames = FILTER_FRAMES_USER };
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(answer_done) struct answer answer = { 0 };
	const struct ranking *ranking = &answer.ranking;

	put_usual_store(&store);
	answer = ask(&store, &user, 150, 160);
	CHECK_EQ(ranking->cores.items[0].cpu, 1);
	CHECK(is_near(ranking->cores.items[0].now.kernel, 1));
	CHECK_STR(ranking->cores.items[0].group, "dd");
	CHECK(!ranking->cores.items[0].function);
	CHECK(is_near(ranking->now.all, 1.25) && is_near(ranking->usual.irq, 0.125));
	CHECK(is_near(function_row(ranking, "serve")->self, 0.125));
	for (size_t i = 0; i < ranking->functions.count; i++)
		CHECK(!ranking->functions.items[i].kernel);
}

/*
 * Threads, CPUs and functions of a group with one sample each. The test adds them in this order or
 * in reverse.
 */
static struct tape *tape_of_equals(bool back)
{
	struct tape *tape = tapes_new(0, 10);
	uint32_t elf = tapes_module(tape, "/x", TAPE_MODULE_ELF);

	for (unsigned int i = 0; i < 4; i++) {
		unsigned int of = back ? 3 - i : i;
		char name[] = { 'a' + of, 0 };
		uint32_t thread = tapes_thread(tape, 7, 7 + of / 2, of % 2 ? "x" : "y");

		tapes_sample(tape, tape->begin_ns + i * NSEC_PER_SEC, of, thread,
			     tapes_call(tape, 0, elf, 16 * of, name));
		thread = tapes_thread(tape, 20, 20, "z");
		tapes_sample(tape, tape->begin_ns + i * NSEC_PER_SEC + 1000, 3 - of, thread,
			     tapes_call(tape, 0, elf, 16 * of, name));
	}
	return tape;
}

static void rank_equals(bool back, struct buffer *json)
{
	_cleanup_(cleanup_tape) struct tape *tape = tape_of_equals(back);
	struct answer answer = { 0 };

	CHECK_EQ(tally_new(&answer.tally), 0);
	CHECK_EQ(tally_add_samples(answer.tally, tape, NULL, NSEC_PER_SEC, PARTS), 0);
	CHECK_EQ(ranking_make(answer.tally, 10 * NSEC_PER_SEC, &answer.baseline, &answer.ranking),
		 0);
	ranking_put_json(&answer.ranking, &answer.baseline, json);
	buffer_u8(json, 0);
	answer_done(&answer);
}

static void test_equals(void)
{
	_cleanup_(buffer_done) struct buffer one = { 0 }, other = { 0 };

	rank_equals(false, &one);
	rank_equals(true, &other);
	CHECK_STR((char *)one.data, (char *)other.data);
}

/* Adds `samples` samples in 60 ms, from two CPUs that are always busy. */
static void rank_short(unsigned int samples, uint64_t host_cpus, struct answer *answer)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10);
	uint32_t dd = tapes_thread(tape, 50, 50, "dd"),
		 zero = tapes_kernel(tape, "do_syscall_64;read_zero");

	for (unsigned int i = 0; i < samples; i++)
		for (uint32_t cpu = 0; cpu < 2; cpu++)
			tapes_sample(tape, tape->begin_ns + i * NSEC_PER_MSEC, cpu, dd, zero);
	CHECK_EQ(tally_new(&answer->tally), 0);
	CHECK_EQ(tally_add_samples(answer->tally, tape, NULL, NSEC_PER_SEC / 97, PARTS), 0);
	answer->tally->host_cpus = host_cpus;
	CHECK_EQ(ranking_make(answer->tally, 60 * NSEC_PER_MSEC, &answer->baseline,
			      &answer->ranking),
		 0);
}

/* The mark at the end of a stack is not a function, unless nothing else is known of the stack. */
static void test_marks(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10);
	uint32_t app = tapes_thread(tape, 7, 7, "app"),
		 elf = tapes_module(tape, "/bin/app", TAPE_MODULE_ELF), frame, cut;
	struct answer answer = { 0 };

	CHECK_EQ(tape_add_mark(tape, TAPE_FRAME_POINTERS, &frame), 0);
	CHECK_EQ(tape_add_stack(tape, 0, frame, &frame), 0);
	CHECK_EQ(tape_add_cut_stack(tape, &cut), 0);
	for (unsigned int i = 0; i < 5; i++)
		tapes_sample(tape, tape->begin_ns + i * NSEC_PER_SEC, 0, app,
			     tapes_call(tape, frame, elf, 16, "work"));
	tapes_sample(tape, tape->begin_ns + 6 * NSEC_PER_SEC, 0, app, cut);
	CHECK_EQ(tally_new(&answer.tally), 0);
	CHECK_EQ(tally_add_samples(answer.tally, tape, NULL, NSEC_PER_SEC, PARTS), 0);
	CHECK_EQ(ranking_make(answer.tally, 10 * NSEC_PER_SEC, &answer.baseline, &answer.ranking),
		 0);
	CHECK_EQ(answer.ranking.functions.count, 2);
	CHECK(is_near(function_row(&answer.ranking, "work")->self, 0.5));
	CHECK(is_near(function_row(&answer.ranking, TAPE_CUT)->self, 0.1));
	answer_done(&answer);
}

/*
 * Six samples stand for 61.9 ms, and twelve for more time than the CPU's timer can measure. No
 * share exceeds the whole time.
 */
static void test_at_most(void)
{
	static const unsigned int samples[] = { 6, 12 };

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct answer answer = { 0 };

		rank_short(samples[i], 2, &answer);
		CHECK(is_near(answer.ranking.now.all, 2) && answer.ranking.now.all <= 2);
		CHECK(is_near(answer.ranking.cores.items[0].now.all, 1));
		CHECK(answer.ranking.cores.items[0].now.all <= 1);
		CHECK(is_near(answer.ranking.cores.items[0].now.kernel, 1));
		answer_done(&answer);
	}
}

static void test_recursion(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 1);
	_cleanup_(cleanup_tally) struct tally *tally = NULL;
	uint32_t thread = tapes_thread(tape, 1, 1, "kworker/u8:2"), name;

	tapes_sample(tape, TAPES_PERF, 0, thread, tapes_kernel(tape, "a;b;a;b;a"));
	tapes_sample(tape, TAPES_PERF, 0, thread, tapes_kernel(tape, "a;b;a;c"));
	CHECK_EQ(tally_new(&tally), 0);
	CHECK_EQ(tally_add_samples(tally, tape, NULL, NSEC_PER_SEC / 97, PARTS), 0);
	name = strings_find(&tally->names, "a", 1);
	CHECK_EQ(tally->functions.items[name].self_ns, tally->sample_ns);
	CHECK_EQ(tally->functions.items[name].total_ns, 2 * tally->sample_ns);
	name = strings_find(&tally->names, "b", 1);
	CHECK_EQ(tally->functions.items[name].self_ns, 0);
	CHECK_EQ(tally->functions.items[name].total_ns, 2 * tally->sample_ns);
	name = strings_find(&tally->names, "kworker/*", 9);
	CHECK_EQ(tally->groups.items[name].ns[STACK_CLASS_KERNEL], 2 * tally->sample_ns);
}

/*
 * With very many samples, the details of CPUs come from some of the samples; all other numbers stay
 * exact.
 */
static void test_many_samples(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 1);
	_cleanup_(cleanup_tally) struct tally *tally = NULL;
	uint32_t threads[] = { tapes_thread(tape, 1, 1, "a"), tapes_thread(tape, 2, 2, "b") };
	uint32_t stack = tapes_kernel(tape, "x;y"), name;
	const uint64_t count = 800000;

	for (uint64_t i = 0; i < count; i++)
		tapes_sample(tape, TAPES_PERF, i % 3, threads[i % 4 == 0], stack);
	CHECK_EQ(tally_new(&tally), 0);
	CHECK_EQ(tally_add_samples(tally, tape, NULL, 1000, PARTS), 0);
	name = strings_find(&tally->names, "y", 1);
	CHECK_EQ(tally->functions.items[name].self_ns, 1000 * count);
	CHECK_EQ(tally->cpus.items[2].ns[STACK_CLASS_KERNEL], 1000 * (count / 3));
	CHECK_EQ(tally->threads.list.count, 2);
	CHECK(is_near(tally->threads.list.items[0].ns / (1000.0 * count), 0.25));
	CHECK(is_near(tally->threads.list.items[1].ns / (1000.0 * count), 0.75));
}

/*
 * With a filter by name, the usual values of CPUs and of names come from the same time: dd runs for
 * 20 s of two minutes.
 */
static void test_filter_by_name(void)
{
	const struct filter filter = { .comm = "dd" };
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(answer_done) struct answer answer;
	const struct ranking *ranking = &answer.ranking;
	double cores = 0;

	tapes_store_init(&store);
	tapes_store_put(&store, busy_tape(0, 60, 40));
	tapes_store_put(&store, busy_tape(60, 120, 120));
	tapes_store_put(&store, busy_tape(120, 180, 120));
	answer = ask(&store, &filter, 125, 130);
	CHECK_EQ(answer.baseline.segments, 2);
	CHECK_EQ(answer.baseline.cpus_ns, answer.baseline.names_ns);
	CHECK_EQ(ranking->groups.count, 1);
	CHECK(is_near(ranking->groups.items[0].usual.all, 20.0 / 120));
	for (size_t i = 0; i < ranking->cores.count; i++)
		cores += ranking->cores.items[i].usual.all;
	CHECK(fabs(cores - ranking->groups.items[0].usual.all) < 1e-9);
}

/* A segment's sums agree with its samples. */
static void test_sums(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_tally) struct tally *samples = NULL, *sums = NULL;
	const struct segment_want want = { 0, UINT64_MAX, SEGMENT_SAMPLES | SEGMENT_SUMS, 1 };
	struct store_segments segments = { 0 };
	struct tape *tape;

	put_usual_store(&store);
	CHECK_EQ(tally_new(&samples), 0);
	CHECK_EQ(tally_new(&sums), 0);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &segments, NULL), 0);
	CHECK_EQ(segments.list.count, 3);
	for (size_t i = 0; i < segments.list.count; i++) {
		CHECK_EQ(store_reader_load(reader, &segments.list.items[i], &want, &tape, NULL), 0);
		CHECK_EQ(tally_add_samples(samples, tape, NULL, NSEC_PER_SEC / 97, PARTS), 0);
		CHECK_EQ(tally_add_sums(sums, tape, NSEC_PER_SEC / 97), 0);
		tape_free(tape);
	}
	array_done(&segments.list);
	CHECK_EQ(samples->samples, sums->samples);
	CHECK(!memcmp(&samples->all, &sums->all, sizeof(sums->all)));
	for (uint32_t i = 1; i < strings_count(&samples->names); i++) {
		const char *name = strings_at(&samples->names, i);
		uint32_t other = strings_find(&sums->names, name, strlen(name));

		CHECK(other);
		CHECK_EQ(samples->functions.items[i].total_ns,
			 sums->functions.items[other].total_ns);
		CHECK_EQ(samples->functions.items[i].self_ns, sums->functions.items[other].self_ns);
		CHECK(!memcmp(&samples->groups.items[i], &sums->groups.items[other],
			      sizeof(struct stack_class)));
	}
}

static char *drawn(const struct ranking *ranking, const struct terminal *terminal)
{
	const struct top_screen screen = {
		"CPU 1 was full for 6 s from 03:12:07, all kernel: kubelet in mem_cgroup_iter\n",
		"window of the test, said in more words than are needed\n"
		"covered 100 %",
		ranking,
		0,
		0,
		false
	};
	struct buffer text = { 0 };

	top_draw(&screen, terminal, &text);
	buffer_u8(&text, 0);
	CHECK(!buffer_failed(&text));
	return (char *)text.data;
}

/*
 * No line is wider than the terminal, the text contains no escape, and the screen is not too high.
 */
static void check_fits(const char *text, const struct terminal *terminal)
{
	unsigned int lines = 0;

	while (*text) {
		size_t size = strcspn(text, "\n");
		_cleanup_free_ char *line = strndup(text, size);

		CHECK(!strchr(line, '\033'));
		CHECK(text_width(terminal, line) <= terminal->width);
		text += size + 1;
		lines++;
	}
	CHECK(lines < MAX(terminal->height, 20u));
}

static void test_drawn(void)
{
	static const struct terminal sizes[] = {
		{ .width = 20, .wrap = 20, .height = 10 },
		{ .width = 80, .wrap = 80, .height = 24 },
		{ .width = 300, .wrap = 300, .height = 90 },
		{ .width = 45, .wrap = 45, .height = 30, .unicode = true },
	};
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(answer_done) struct answer answer = { 0 };
	const struct terminal color = { .width = 80,
					.wrap = 80,
					.height = 24,
					.color = true,
					.unicode = true },
			      least = { .width = 1, .wrap = 1, .height = 1 };
	_cleanup_free_ char *colored = NULL, *smallest = NULL;

	put_usual_store(&store);
	answer = ask(&store, &all, 150, 160);
	colored = drawn(&answer.ranking, &color);
	check_golden("usual-color.top", colored);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_free_ char *text = drawn(&answer.ranking, &sizes[i]);
		char name[32];

		check_fits(text, &sizes[i]);
		snprintf(name, sizeof(name), "usual-%u.top", sizes[i].width);
		check_golden(name, text);
	}
	smallest = drawn(&answer.ranking, &least);
	CHECK(strstr(smallest, "100.0"));
}

static void test_hostile(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(answer_done) struct answer answer = { 0 };
	const struct terminal tall = { .width = 80, .wrap = 80, .height = 200 };
	const struct terminal wide = { .width = 80, .wrap = 80, .height = 200, .unicode = true };
	_cleanup_free_ char *text = NULL, *unicode = NULL;
	struct tape *tape = hostile_tape();

	tapes_store_init(&store);
	tape_span_samples(tape);
	tapes_store_put(&store, tape);
	answer = ask(&store, &all, 0, 100);
	text = drawn(&answer.ranking, &tall);
	check_fits(text, &tall);
	check_golden("hostile.top", text);
	unicode = drawn(&answer.ranking, &wide);
	check_fits(unicode, &wide);
}

CHECK_MAIN({ "a saturated CPU stands out", test_store },
	   { "a CPU that is always saturated stays on the screen", test_always_busy },
	   { "the rest of the only segment is what is usual", test_one_segment },
	   { "without another recording nothing is compared", test_nothing_usual },
	   { "a filter for one CPU", test_filter }, { "equal rows have one order", test_equals },
	   { "a mark is not a function", test_marks },
	   { "no share exceeds the whole time", test_at_most },
	   { "a recursive function counts once", test_recursion },
	   { "very many samples stay exact", test_many_samples },
	   { "sums and samples agree", test_sums }, { "the screen fits the terminal", test_drawn },
	   { "hostile names do not reach the screen", test_hostile },
	   { "frames can be left out", test_frames }, { "a filter by name", test_filter_by_name })
