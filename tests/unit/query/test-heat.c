// SPDX-License-Identifier: GPL-2.0-only
/* Grids of CPU time, and how they are drawn. */
#include "tests/check.h"

#include "draw/heat-map.h"
#include "draw/text.h"
#include "query/read/window-filter.h"
#include "query/sums/tally-tape.h"
#include "tests/golden.h"
#include "tests/tapes.h"

#define SAMPLE_NS 10309278
#define SECONDS 12

/* A window that begins and ends inside a second. */
static const struct window window = {
	.from_ns = TAPES_REALTIME + 250 * NSEC_PER_MSEC,
	.to_ns = TAPES_REALTIME + SECONDS * NSEC_PER_SEC - 500 * NSEC_PER_MSEC,
	.at_ns = TAPES_REALTIME + 6 * NSEC_PER_SEC,
};

/*
 * CPU 0 idles except in the first quarter of each second. CPU 1 works from the fourth second on: in
 * a program, then in the kernel, then for interrupts. CPU 5 is idle.
 */
static struct tape *make_tape(struct window_filter_times *times)
{
	struct tape *tape = tapes_new(0, SECONDS);
	uint32_t worker = tapes_thread(tape, 7, 7, "worker"),
		 idle = tapes_thread(tape, 0, 0, "swapper");
	uint32_t halt = tapes_kernel(tape, "do_idle;native_safe_halt");
	uint32_t user = tapes_call(tape, 0, tapes_module(tape, "/x", TAPE_MODULE_ELF), 16, "main");
	uint32_t kernel = tapes_kernel(tape, "do_syscall_64;read_zero");
	uint32_t irq = tapes_kernel(tape, "asm_common_interrupt;__do_softirq");

	CHECK_EQ(tape_add_fact(tape, "cpus", "6"), 0);
	for (uint64_t ns = TAPES_PERF; ns < tape->end_ns; ns += SAMPLE_NS) {
		uint64_t real_ns = tape_to_realtime(tape, ns, NULL);
		uint64_t second = (ns - TAPES_PERF) / NSEC_PER_SEC;
		bool early = (ns - TAPES_PERF) % NSEC_PER_SEC < NSEC_PER_SEC / 4;

		if (real_ns < window.from_ns || real_ns >= window.to_ns)
			continue;
		tapes_sample(tape, ns, 0, early ? worker : idle, early ? user : halt);
		tapes_sample(tape, ns, 1, second < 4 ? idle : worker,
			     second < 4	  ? halt
			     : second < 6 ? user
			     : second < 9 ? kernel
					  : irq);
		tapes_sample(tape, ns, 5, idle, halt);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(array_push(&times->list, real_ns), 0);
	}
	return tape;
}

static struct heat *make(enum heat_rows by, uint64_t column_ns, uint32_t rows,
			 const struct coverage *coverage)
{
	struct window_filter_times times = { 0 };
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(&times);
	struct heat *heat;

	CHECK_EQ(heat_new(by, &window, column_ns, rows, &heat), 0);
	CHECK_EQ(heat_add(heat, tape, &times, SAMPLE_NS), 0);
	CHECK_EQ(heat_cover(heat, &window, coverage), 0);
	window_filter_times_done(&times);
	return heat;
}

static uint64_t sum_of(const struct heat *heat, bool idle)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < heat->cells.count; i++)
		sum += idle ? heat->cells.items[i].ns[STACK_CLASS_IDLE]
			    : stack_class_work_ns(&heat->cells.items[i]);
	return sum;
}

/*
 * One whole second, and one in which throttling skipped every other sample. CPU 1 was throttled in
 * another second.
 */
static void test_throttled(void)
{
	const struct window two = { .from_ns = TAPES_REALTIME,
				    .to_ns = TAPES_REALTIME + 2 * NSEC_PER_SEC };
	const uint64_t begin_ns = TAPES_PERF + NSEC_PER_SEC, end_ns = TAPES_PERF + 2 * NSEC_PER_SEC;
	const struct tape_loss losses[] = {
		{ TAPE_LOSS_SKIPPED, 0, begin_ns - 1, end_ns, 50 },
		{ TAPE_LOSS_THROTTLED, 0, begin_ns, end_ns, 50 },
		{ TAPE_LOSS_SKIPPED, 0, begin_ns, end_ns, 50 },
		{ TAPE_LOSS_THROTTLED, 1, TAPES_PERF, begin_ns, 90 },
		{ TAPE_LOSS_SKIPPED, 1, TAPES_PERF, begin_ns, 90 },
	};
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 2);
	_cleanup_(cleanup_heat) struct heat *heat = NULL;
	_cleanup_(cleanup_tally) struct tally *tally = NULL;
	uint32_t worker = tapes_thread(tape, 7, 7, "worker");
	uint32_t kernel = tapes_kernel(tape, "do_syscall_64;read_zero");
	struct window_filter_times times = { 0 };
	const uint64_t slot_ns = 10 * NSEC_PER_MSEC;
	double second;

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++)
		CHECK_EQ(array_push(&tape->losses, losses[i]), 0);
	for (uint64_t ns = TAPES_PERF; ns < end_ns; ns += ns < begin_ns ? slot_ns : 2 * slot_ns) {
		tapes_sample(tape, ns, 0, worker, kernel);
		CHECK_EQ(array_push(&times.list, tape_to_realtime(tape, ns, NULL)), 0);
	}
	CHECK_EQ(heat_new(HEAT_CPUS, &two, NSEC_PER_SEC, 0, &heat), 0);
	CHECK_EQ(heat_add(heat, tape, &times, slot_ns), 0);
	CHECK_EQ(stack_class_work_ns(heat_cell(heat, 0, 0)), NSEC_PER_SEC);
	second = stack_class_work_ns(heat_cell(heat, 0, 1));
	CHECK(second > 0.97 * NSEC_PER_SEC && second <= NSEC_PER_SEC);
	CHECK_EQ(tally_new(&tally), 0);
	CHECK_EQ(tally_add_samples(tally, tape, NULL, slot_ns, TALLY_CPUS | TALLY_NAMES), 0);
	CHECK_EQ(stack_class_work_ns(&tally->cpus.items[0]), NSEC_PER_SEC + (uint64_t)second);
	CHECK_EQ(stack_class_work_ns(&tally->all), NSEC_PER_SEC + (uint64_t)second);
	window_filter_times_done(&times);
}

/* A tape from an attacker may contain any CPU number, and rows are numbered by CPU. */
static void test_no_such_cpu(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, SECONDS);
	_cleanup_(cleanup_heat) struct heat *heat = NULL;
	_cleanup_(cleanup_tally) struct tally *tally = NULL;
	const uint32_t cpus[] = { 3, UINT32_MAX, UINT32_MAX - 1, TAPE_CPUS_MAX };
	uint32_t worker = tapes_thread(tape, 7, 7, "worker");
	uint32_t kernel = tapes_kernel(tape, "do_syscall_64;read_zero");
	struct window_filter_times times = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++) {
		tapes_sample(tape, TAPES_PERF + NSEC_PER_SEC, cpus[i], worker, kernel);
		CHECK_EQ(array_push(&times.list, TAPES_REALTIME + NSEC_PER_SEC), 0);
	}
	CHECK_EQ(heat_new(HEAT_CPUS, &window, NSEC_PER_SEC, 0, &heat), 0);
	CHECK_EQ(heat_add(heat, tape, &times, SAMPLE_NS), 0);
	CHECK_EQ(heat->rows, 4);
	CHECK_EQ(sum_of(heat, false), SAMPLE_NS);
	CHECK_EQ(tally_new(&tally), 0);
	CHECK_EQ(tally_add_samples(tally, tape, NULL, SAMPLE_NS,
				   TALLY_CPUS | TALLY_NAMES | TALLY_DETAILS),
		 0);
	CHECK_EQ(tally->cpus.count, 4);
	CHECK_EQ(stack_class_work_ns(&tally->all), 4 * SAMPLE_NS);
	window_filter_times_done(&times);
}

static void test_columns(void)
{
	struct window day = { .from_ns = TAPES_REALTIME,
			      .to_ns = TAPES_REALTIME + 86400 * NSEC_PER_SEC };
	struct window century = { .to_ns = 36500 * 86400ull * NSEC_PER_SEC };

	CHECK_EQ(heat_column_ns(&window, 12), NSEC_PER_SEC);
	CHECK_EQ(heat_column_ns(&window, 11), 2 * NSEC_PER_SEC);
	CHECK_EQ(heat_column_ns(&window, 1), 15 * NSEC_PER_SEC);
	CHECK_EQ(heat_column_ns(&day, 74), 1800 * NSEC_PER_SEC);
	CHECK_EQ(heat_column_ns(&century, 100), 365 * 86400 * NSEC_PER_SEC);
}

/* Long columns begin at whole minutes, as the intervals of digests do, and show the same window. */
static void test_begin(void)
{
	const uint64_t minute_ns = 60 * NSEC_PER_SEC,
		       from_ns = TAPES_REALTIME / minute_ns * minute_ns;
	const struct window late = { .from_ns = from_ns + 47 * NSEC_PER_SEC,
				     .to_ns = from_ns + 240 * NSEC_PER_SEC };
	const struct {
		uint64_t column_s, begin_s;
		uint32_t columns;
	} rows[] = { { 1, 47, 193 }, { 20, 47, 10 }, { 30, 40, 7 }, { 60, 40, 4 }, { 120, 0, 2 } };
	const struct coverage coverage = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(cleanup_heat) struct heat *heat = NULL;
		int64_t asked_ns = 0;

		CHECK_EQ(
			heat_new(HEAT_FRACTIONS, &late, rows[i].column_s * NSEC_PER_SEC, 10, &heat),
			0);
		CHECK_EQ(heat->begin_ns, from_ns + rows[i].begin_s * NSEC_PER_SEC);
		CHECK_EQ(heat->columns, rows[i].columns);
		CHECK_EQ(heat_cover(heat, &late, &coverage), 0);
		for (size_t j = 0; j < heat->asked_ns.count; j++)
			asked_ns += heat->asked_ns.items[j];
		CHECK_EQ(asked_ns, (int64_t)(193 * NSEC_PER_SEC));
	}
}

/* The number of columns is limited, however long the window is. */
static void test_century(void)
{
	const struct window century = { .from_ns = NSEC_PER_SEC / 3,
					.to_ns = 36500 * 86400ull * NSEC_PER_SEC };
	struct coverage_gap gap = { .from_ns = 1, .to_ns = 7 * NSEC_PER_SEC };
	const struct coverage coverage = { .gaps = { &gap, 1, 1 } };
	_cleanup_(cleanup_heat) struct heat *heat = NULL;
	int64_t covered = 0;

	CHECK_EQ(heat_new(HEAT_FRACTIONS, &century, heat_column_ns(&century, 70), 33, &heat), 0);
	CHECK_EQ(heat_cover(heat, &century, &coverage), 0);
	for (size_t i = 0; i < heat->covered_ns.count; i++)
		covered += heat->covered_ns.items[i];
	CHECK_EQ(covered, century.to_ns - gap.to_ns);
}

/* The grid contains all time except half a sample at each of its edges. */
static void test_time(void)
{
	static const struct coverage whole;
	_cleanup_(cleanup_heat) struct heat *cpus = make(HEAT_CPUS, NSEC_PER_SEC, 0, &whole);

	CHECK_EQ(cpus->rows, 6);
	CHECK_EQ(cpus->columns, SECONDS);
	CHECK_EQ(stack_class_work_ns(heat_cell(cpus, 5, 3)), 0);
	CHECK_EQ(stack_class_work_ns(heat_cell(cpus, 1, 7)),
		 heat_cell(cpus, 1, 7)->ns[STACK_CLASS_KERNEL]);
	CHECK_EQ(cpus->covered_ns.items[0], 750 * NSEC_PER_MSEC);
	CHECK_EQ(cpus->covered_ns.items[11], 500 * NSEC_PER_MSEC);
	for (uint32_t rows = 1; rows < 60; rows += 7) {
		_cleanup_(cleanup_heat) struct heat *heat =
			make(HEAT_FRACTIONS, 2 * NSEC_PER_SEC, rows, &whole);
		int64_t covered = 0;

		CHECK(sum_of(cpus, false) - sum_of(heat, false) <= 6 * SAMPLE_NS);
		CHECK(sum_of(cpus, true) - sum_of(heat, true) <= 6 * SAMPLE_NS);
		for (size_t i = 0; i < heat->covered_ns.count; i++)
			covered += heat->covered_ns.items[i];
		CHECK_EQ(covered, window.to_ns - window.from_ns);
	}
}

static void test_merge(void)
{
	static const struct coverage whole;
	_cleanup_(cleanup_heat) struct heat *heat = make(HEAT_CPUS, NSEC_PER_SEC, 0, &whole);
	_cleanup_(cleanup_heat) struct heat *empty = NULL;

	CHECK_EQ(heat_new(HEAT_CPUS, &window, NSEC_PER_SEC, 0, &empty), 0);
	CHECK_EQ(heat_merge(empty, heat), 0);
	CHECK_EQ(heat_merge(empty, heat), 0);
	CHECK_EQ(empty->rows, 6);
	CHECK_EQ(sum_of(empty, false), 2 * sum_of(heat, false));
	CHECK_EQ(empty->host_cpus, 6);
}

static void check_drawn(const char *name, enum heat_rows by, const struct terminal *terminal)
{
	struct coverage_gap gap = { .from_ns = TAPES_REALTIME + 1500 * NSEC_PER_MSEC,
				    .to_ns = TAPES_REALTIME + 3 * NSEC_PER_SEC };
	struct coverage coverage = { .gaps = { &gap, 1, 1 } };
	static const struct mark marks[] = {
		{ TAPES_REALTIME + 9100 * NSEC_PER_MSEC, TAPES_REALTIME + 3100 * NSEC_PER_MSEC,
		  "ena.tx_stall  ena 0000:20:03.0 eth0: \033[2JTX\n" },
		{ TAPES_REALTIME + 9900 * NSEC_PER_MSEC, 0, "oom.kill  \x80\xff" },
	};
	_cleanup_(cleanup_heat) struct heat *heat =
		make(by, heat_column_ns(&window, heat_columns_max(terminal, by)), heat_fractions(),
		     &coverage);
	const struct heat_picture picture = {
		heat, "the window\nthe coverage", marks, ARRAY_SIZE(marks), window.at_ns, true, 0
	};
	_cleanup_(buffer_done) struct buffer text = { 0 };

	heat_draw(&picture, terminal, &text);
	buffer_u8(&text, 0);
	CHECK(!buffer_failed(&text));
	CHECK(terminal->color || !strchr((char *)text.data, '\033'));
	for (const char *at = (char *)text.data; *at && !terminal->color;
	     at += strcspn(at, "\n") + 1) {
		_cleanup_free_ char *line = strndup(at, strcspn(at, "\n"));

		CHECK(text_width(terminal, line) <= terminal->width);
	}
	check_golden(name, (char *)text.data);
}

static void test_drawn(void)
{
	const struct terminal ascii = { .width = 80, .wrap = 80, .height = 18 };
	const struct terminal unicode = { .width = 80, .wrap = 80, .height = 18, .unicode = true };
	const struct terminal color = {
		.width = 80, .wrap = 80, .height = 18, .unicode = true, .color = true
	};
	const struct terminal ascii_color = {
		.width = 80, .wrap = 80, .height = 18, .color = true
	};
	const struct terminal narrow = { .width = 20, .wrap = 20, .height = 4 };

	check_drawn("usual.heat", HEAT_FRACTIONS, &ascii);
	check_drawn("usual-unicode.heat", HEAT_FRACTIONS, &unicode);
	check_drawn("usual-color.heat", HEAT_FRACTIONS, &color);
	check_drawn("usual-ascii-color.heat", HEAT_FRACTIONS, &ascii_color);
	check_drawn("narrow.heat", HEAT_FRACTIONS, &narrow);
	check_drawn("cpus.heat", HEAT_CPUS, &ascii);
	check_drawn("cpus-unicode.heat", HEAT_CPUS, &unicode);
	check_drawn("cpus-color.heat", HEAT_CPUS, &color);
	check_drawn("cpus-narrow.heat", HEAT_CPUS, &narrow);
}

/* Time that the filter removes counts as idle. */
static void test_left_out(void)
{
	static const struct coverage whole;
	struct window_filter_times times = { 0 };
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(&times);
	_cleanup_(cleanup_heat) struct heat *heat = NULL,
					    *all = make(HEAT_CPUS, NSEC_PER_SEC, 0, &whole);

	CHECK_EQ(heat_new(HEAT_CPUS, &window, NSEC_PER_SEC, 0, &heat), 0);
	heat->left_out = 1u << STACK_CLASS_USER;
	CHECK_EQ(heat_add(heat, tape, &times, SAMPLE_NS), 0);
	for (size_t i = 0; i < heat->cells.count; i++) {
		const struct stack_class *left = &heat->cells.items[i], *of = &all->cells.items[i];

		CHECK_EQ(left->ns[STACK_CLASS_USER], 0);
		CHECK_EQ(left->ns[STACK_CLASS_IDLE],
			 of->ns[STACK_CLASS_IDLE] + of->ns[STACK_CLASS_USER]);
		CHECK_EQ(left->ns[STACK_CLASS_KERNEL], of->ns[STACK_CLASS_KERNEL]);
		CHECK_EQ(left->ns[STACK_CLASS_IRQ], of->ns[STACK_CLASS_IRQ]);
	}
	window_filter_times_done(&times);
}

static struct heat *make_many(uint32_t cpus)
{
	static const struct coverage whole;
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, SECONDS);
	uint32_t worker = tapes_thread(tape, 7, 7, "worker"), kernel = tapes_kernel(tape, "x");
	struct window_filter_times times = { 0 };
	struct heat *heat;

	/*
	 * each CPU has a sample in the sixth second; CPU 39 is saturated in that second and in the
	 * next one
	 */
	for (uint32_t i = 0; i < cpus + 2 * 97; i++) {
		uint64_t second = i < cpus + 97 ? 5 : 6;

		CHECK_EQ(array_push(&times.list, TAPES_REALTIME + second * NSEC_PER_SEC), 0);
		tapes_sample(tape, TAPES_PERF, i < cpus ? i : 39, worker, kernel);
	}
	CHECK_EQ(heat_new(HEAT_CPUS, &window, NSEC_PER_SEC, 0, &heat), 0);
	CHECK_EQ(heat_add(heat, tape, &times, SAMPLE_NS), 0);
	CHECK_EQ(heat_cover(heat, &window, &whole), 0);
	window_filter_times_done(&times);
	return heat;
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

/*
 * With any number of CPUs, the map has no more lines than the terminal, its rows cover all CPUs,
 * and the text names the saturated CPU.
 */
static void check_many(uint32_t cpus, unsigned int width, unsigned int height)
{
	const struct terminal terminal = { .width = width, .wrap = width, .height = height };
	_cleanup_(cleanup_heat) struct heat *heat = make_many(cpus);
	_cleanup_(buffer_done) struct buffer text = { 0 };

	heat_draw(&(struct heat_picture){ .heat = heat, .head = "x" }, &terminal, &text);
	buffer_u8(&text, 0);
	CHECK(count_lines((char *)text.data) < height);
	CHECK(strstr((char *)text.data, width < 80 ? " KKKK" : " KKKKKKKK"));
	CHECK(!strstr((char *)text.data, width < 80 ? "KKKKK" : "KKKKKKKKK"));
	for (char *at = (char *)text.data; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
	CHECK(strstr((char *)text.data, "CPU 39: 2"));
}

static void test_many(void)
{
	const struct terminal terminal = { .width = 80, .wrap = 80, .height = 24 };
	_cleanup_(cleanup_heat) struct heat *heat = make_many(448);
	_cleanup_(buffer_done) struct buffer text = { 0 };

	for (unsigned int width = 40; width <= 200; width += 40)
		for (unsigned int height = 14; height <= 50; height += 6) {
			check_many(96, width, height);
			check_many(448, width, height);
			check_many(2000, width, height);
		}
	heat_draw(&(struct heat_picture){ .heat = heat, .head = "x" }, &terminal, &text);
	buffer_u8(&text, 0);
	check_golden("cpus-many.heat", (char *)text.data);
}

/* The map is complete on the lowest terminal, and explains what a row is. */
static void test_low(void)
{
	static const struct coverage whole;
	static const struct mark marks[6] = { [0 ... 5] = { TAPES_REALTIME, 0, "oom.kill" } };
	_cleanup_(cleanup_heat) struct heat *heat =
		make(HEAT_FRACTIONS, NSEC_PER_SEC, heat_fractions(), &whole);
	const struct heat_picture picture = {
		heat, "the window\nthe coverage", marks, ARRAY_SIZE(marks), window.at_ns, true, 3
	};

	for (unsigned int height = 15; height < 60; height++)
		for (int kind = 0; kind < 4; kind++) {
			const struct terminal terminal = { .width = 80,
							   .wrap = 80,
							   .height = height,
							   .color = kind & 1,
							   .unicode = kind & 2 };
			_cleanup_(buffer_done) struct buffer text = { 0 };

			heat_draw(&picture, &terminal, &text);
			buffer_u8(&text, 0);
			CHECK(count_lines((char *)text.data) + 3 < height);
			CHECK(strstr((char *)text.data, " ms of each second"));
		}
}

/* JSON shows no more than the whole time, and the same amount as the drawing. */
static void test_json_capped(void)
{
	_cleanup_(cleanup_heat) struct heat *heat = make_many(40);
	_cleanup_(buffer_done) struct buffer json = { 0 };
	struct stack_class *cell = &heat->cells.items[39 * heat->columns + 5];

	CHECK(stack_class_work_ns(cell) > NSEC_PER_SEC);
	CHECK(heat_busy(heat, 39, 5) == 1);
	heat_put_json(heat, &json);
	buffer_u8(&json, 0);
	CHECK(strstr((char *)json.data, "{\"cpu\":39,\"user\":0,\"kernel\":1,\"irq\":0}"));
	cell->ns[STACK_CLASS_USER] = cell->ns[STACK_CLASS_KERNEL];
	json.size = 0;
	heat_put_json(heat, &json);
	buffer_u8(&json, 0);
	CHECK(strstr((char *)json.data, "{\"cpu\":39,\"user\":0.5,\"kernel\":0.5,\"irq\":0}"));
}

/* The third and fourth second of CPU 1 are unknown; the row of all CPUs is known. */
static void test_offline(void)
{
	struct coverage_gap gap = { .from_ns = TAPES_REALTIME + 2 * NSEC_PER_SEC,
				    .to_ns = TAPES_REALTIME + 3500 * NSEC_PER_MSEC,
				    .cpus = "1-2" };
	const struct coverage coverage = { .gaps = { &gap, 1, 1 } };
	_cleanup_(cleanup_heat) struct heat *cpus = make(HEAT_CPUS, NSEC_PER_SEC, 0, &coverage);
	_cleanup_(cleanup_heat) struct heat *all = make(HEAT_FRACTIONS, NSEC_PER_SEC, 4, &coverage);
	const int64_t *covered = cpus->covered_ns.items;

	CHECK_EQ(heat_cell_ns(cpus, covered, 1, 1), NSEC_PER_SEC);
	CHECK_EQ(heat_cell_ns(cpus, covered, 1, 2), 0);
	CHECK_EQ(heat_cell_ns(cpus, covered, 1, 3), 500 * NSEC_PER_MSEC);
	CHECK_EQ(heat_cell_ns(cpus, cpus->asked_ns.items, 1, 2), NSEC_PER_SEC);
	CHECK_EQ(heat_cell_ns(cpus, covered, 0, 2), NSEC_PER_SEC);
	CHECK_EQ(heat_cell_ns(all, all->covered_ns.items, 0, 2), NSEC_PER_SEC / 4);
}

/* If a gap ends a few microseconds after a second begins, that second does not look idle. */
static void test_sliver(void)
{
	struct coverage_gap gap = { .from_ns = TAPES_REALTIME + NSEC_PER_SEC + 700,
				    .to_ns = TAPES_REALTIME + 3 * NSEC_PER_SEC - 4000 };
	const struct coverage coverage = { .gaps = { &gap, 1, 1 } };
	_cleanup_(cleanup_heat) struct heat *cpus = make(HEAT_CPUS, NSEC_PER_SEC, 0, &coverage);

	CHECK(!heat_is_unknown(cpus, 0, 0));
	CHECK(heat_is_unknown(cpus, 0, 1));
	CHECK(heat_is_unknown(cpus, 0, 2));
	CHECK(!heat_is_unknown(cpus, 0, 3));
}

CHECK_MAIN({ "an offline CPU is unknown", test_offline },
	   { "a sliver of a second is unknown", test_sliver },
	   { "samples of a throttled CPU count for the skipped ones", test_throttled },
	   { "a CPU number beyond all hosts is ignored", test_no_such_cpu },
	   { "time is split into columns", test_columns },
	   { "long columns begin at whole minutes", test_begin },
	   { "left out time is idle", test_left_out }, { "a window of a century", test_century },
	   { "no time is lost", test_time }, { "merged grids add up", test_merge },
	   { "the drawing matches tests/golden", test_drawn },
	   { "many CPUs share the lines", test_many },
	   { "a low terminal shows everything", test_low },
	   { "JSON never exceeds the whole time", test_json_capped })
