// SPDX-License-Identifier: GPL-2.0-only
/* The gauges of a window, across segments and boots, as rows and as lines. */
#include "tests/check.h"

#include <math.h>

#include "base/clock.h"
#include "draw/chart.h"
#include "query/sums/gauge-rows.h"
#include "query/sums/gauge-usual.h"
#include "tests/tapes.h"

/* Adds a gauge with one reading every `every` seconds from the tape's begin. */
static void add_gauge(struct tape *tape, const char *name, unsigned int every, size_t count,
		      const int64_t *values)
{
	uint32_t row;

	CHECK_EQ(tape_add_gauge(tape, name, &row), 0);
	for (size_t i = 0; i < count; i++)
		CHECK_EQ(tape_add_point(tape, row, tape->begin_ns + i * every * NSEC_PER_SEC,
					values[i]),
			 0);
}

#define GAUGE(tape, name, every, ...)                                                \
	add_gauge(tape, name, every, ARRAY_SIZE(((const int64_t[]){ __VA_ARGS__ })), \
		  (const int64_t[]){ __VA_ARGS__ })

/* Two minutes of one boot, stored in two segments. */
static void make_store(struct tapes_store *store)
{
	struct tape *first = tapes_new(0, 60), *second = tapes_new(60, 120);

	tapes_store_init(store);
	GAUGE(first, "cpu0/user_ms", 20, 1000, 3000, 13000);
	GAUGE(first, "cpu1/user_ms", 20, 0, 20000, 40000);
	GAUGE(first, "host/running", 20, 3, 4, 5);
	GAUGE(first, "host/switches", 20, 100, 300, 200);
	GAUGE(first, "pressure/cpu_some_us", 20, 0, 0, 1000000);
	GAUGE(second, "cpu0/user_ms", 20, 23000, 23000);
	GAUGE(second, "host/running", 20, 9);
	tapes_store_put(store, first);
	tapes_store_put(store, second);
}

struct seen {
	struct gauge_rows figures;
	char text[4096];
	size_t steps;
	/* 0: never */
	size_t end_after;
};

static int see(void *context, const struct series_step *step)
{
	struct seen *seen = context;
	size_t size = strlen(seen->text);

	if (++seen->steps == seen->end_after)
		return -ECANCELED;
	if (step->has_figure)
		snprintf(seen->text + size, sizeof(seen->text) - size, "%s %.2f; ", step->name,
			 step->figure);
	else
		snprintf(seen->text + size, sizeof(seen->text) - size, "%s -; ", step->name);
	return step->has_figure ? gauge_rows_add(&seen->figures, step) : 0;
}

/* Times are seconds after the first segment's begin. */
static int run(const struct tapes_store *store, struct seen *seen, unsigned int from,
	       unsigned int to, const char *glob, struct coverage *ret_coverage)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct filter filter = { 0 };
	struct series_options options = {
		.question = { .window = { .from_ns = TAPES_REALTIME + from * NSEC_PER_SEC,
					  .to_ns = TAPES_REALTIME + to * NSEC_PER_SEC },
			      .filter = &filter },
		.see = see,
		.context = seen,
	};

	if (glob)
		options.names = (struct globs){ { glob }, 1 };
	seen->figures.window = options.question.window;
	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	return series_run(reader, &options, ret_coverage, NULL);
}

/* Checks all steps of a window as text, and the seconds that are covered. */
static void check_steps(const struct tapes_store *store, unsigned int from, unsigned int to,
			const char *glob, const char *text, unsigned int covered)
{
	struct seen seen = { .figures.cells = 4 };
	struct coverage coverage;

	CHECK_EQ(run(store, &seen, from, to, glob, &coverage), 0);
	CHECK_STR(seen.text, text);
	CHECK_EQ(coverage.covered_ns, covered * NSEC_PER_SEC);
	gauge_rows_done(&seen.figures);
	array_done(&coverage.gaps);
}

/*
 * The steps of counters are their growth, also across segments; levels are as read. A counter that
 * went back lacks a figure.
 */
static void test_steps(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;

	make_store(&store);
	check_steps(&store, 0, 120, NULL,
		    "cpu0/user_ms -; cpu0/user_ms 10.00; cpu0/user_ms 50.00; "
		    "cpu1/user_ms -; cpu1/user_ms 100.00; cpu1/user_ms 100.00; "
		    "host/running 3.00; host/running 4.00; host/running 5.00; "
		    "host/switches -; host/switches 10.00; host/switches -; "
		    "pressure/cpu_some_us -; pressure/cpu_some_us 0.00; pressure/cpu_some_us 5.00; "
		    "cpu0/user_ms 50.00; cpu0/user_ms 0.00; host/running 9.00; ",
		    120);
}

/* A window without readings gets its share of the step that spans it. */
static void test_window(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct coverage coverage;
	struct seen seen = { .end_after = 2, .figures.cells = 4 };

	make_store(&store);
	check_steps(&store, 25, 30, "cpu?/*", "cpu0/user_ms 50.00; cpu1/user_ms 100.00; ", 5);
	CHECK_EQ(run(&store, &seen, 0, 120, NULL, &coverage), -ECANCELED);
	CHECK_EQ(seen.steps, 2);
	gauge_rows_done(&seen.figures);
}

/* The two readings of a step may be in two segments, of which only one overlaps the window. */
static void test_neighbours(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;

	make_store(&store);
	check_steps(&store, 45, 55, "cpu0/*", "cpu0/user_ms 50.00; ", 10);

	check_steps(&store, 60, 62, "cpu0/*", "cpu0/user_ms 50.00; cpu0/user_ms 0.00; ", 2);
}

/* A step across a gap does not give the time of the gap a value. */
static void test_gap(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *first = tapes_new(0, 10), *second = tapes_new(40, 50);

	tapes_store_init(&store);
	GAUGE(first, "host/switches", 5, 100, 400);
	GAUGE(second, "host/switches", 5, 500, 800);
	tapes_store_put(&store, first);
	tapes_store_put(&store, second);
	check_steps(&store, 20, 30, NULL, "", 0);
}

/* The counters of another boot start anew, even if their values are higher. */
static void test_boots(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *first = tapes_new(0, 60), *second = tapes_new(60, 120);

	tapes_store_init(&store);
	GAUGE(first, "host/switches", 30, 100, 400);
	GAUGE(second, "host/switches", 30, 500, 800);
	CHECK_EQ(tape_add_fact(second, "boot_id", "99999999-2222-3333-4444-555555555555"), 0);
	for (size_t i = 0; i < second->facts.count; i++)
		if (strcmp(strings_at(&second->strings, second->facts.items[i].key), "boot_id") ==
		    0) {
			second->facts.items[i] = second->facts.items[second->facts.count - 1];
			second->facts.count--;
			break;
		}
	tapes_store_put(&store, first);
	tapes_store_put(&store, second);
	check_steps(&store, 0, 120, NULL,
		    "host/switches -; host/switches 10.00; host/switches -; host/switches 10.00; ",
		    120);
}

/* The shown name lacks the unit; a filter accepts the name with and without the unit. */
static void test_names(void)
{
	CHECK(series_has_name("cpu0/user_ms", "cpu0/user_ms"));
	CHECK(series_has_name("cpu0/user_ms", "cpu0/user"));
	CHECK(series_has_name("cpu0/user_ms", "cpu?/us*r"));
	CHECK(series_has_name("cpu0/user_ms", NULL));
	CHECK(series_has_name("dying-cgroups/ecs/*/oldest_s", "*/oldest"));
	CHECK(!series_has_name("cpu0/user_ms", "cpu0/use"));
	CHECK(!series_has_name("host/running", "host/runn"));
	CHECK_EQ(series_unit("dying-cgroups/ecs/*/oldest_s"), SERIES_SECONDS);
	CHECK_EQ(series_unit("dying-cgroups/ecs/*"), SERIES_LEVEL);
	CHECK_EQ(series_unit("net/ens5/tx5_timeouts"), SERIES_COUNT);
	CHECK_EQ(series_unit("net/ens5/carrier_changes"), SERIES_COUNT);
	CHECK_EQ(series_unit("unit/ecs.service/starts"), SERIES_COUNT);
	CHECK_EQ(series_unit("containers/ecs/*/made"), SERIES_COUNT);
	CHECK_EQ(series_unit("vmstat/oom_kill"), SERIES_COUNT);
	CHECK_EQ(series_unit("host/switches"), SERIES_PER_SECOND);
	CHECK(series_max("cpu39/user_ms") == 100);
	CHECK(series_max("pressure/memory_some_us") == 100);
	CHECK(isinf(series_max("cgroup/x/throttled_ms")));
	CHECK(isinf(series_max("cpu39/net_rx_softirqs")));
	CHECK(series_max("thread/ksoftirqd/39/wait_us") == 100);
}

static const struct gauge_rows_row *row_named(const struct gauge_rows *figures, const char *name)
{
	for (size_t i = 0; i < figures->rows.count; i++)
		if (strcmp(figures->rows.items[i].name, name) == 0)
			return &figures->rows.items[i];
	CHECK_FAIL("no row \"%s\"", name);
}

static void check_near(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-3))
		CHECK_FAIL("%f, not %f", value, expected);
}

/* A cell of half a minute contains the mean of that time. All CPUs together have a separate row. */
static void test_rows(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	const struct gauge_rows_row *row;
	struct coverage coverage;
	struct seen seen = { .figures.cells = 4 };

	make_store(&store);
	CHECK_EQ(run(&store, &seen, 0, 120, NULL, &coverage), 0);
	gauge_rows_finish(&seen.figures);
	CHECK_EQ(seen.figures.cpus, 2);
	row = row_named(&seen.figures, "cpu0/user");
	check_near(row->least, 0);
	check_near(row->mean, (10 + 50 + 50 + 0) / 4.0);
	check_near(row->most, 50);
	check_near(row->cells[0], (20 * 10 + 10 * 50) / 30.0);
	check_near(row->cells[1], 50);
	check_near(row->cells[2], 0);
	CHECK(isnan(row->cells[3]));
	row = row_named(&seen.figures, "cpu*/user");
	check_near(row->most, 100);
	check_near(row->cells[0], (20 * 10 + 10 * 50 + 30 * 100) / 60.0);
	CHECK_STR(seen.figures.rows.items[0].name, "cpu*/user");
	CHECK_STR(seen.figures.rows.items[2].name, "cpu1/user");
	gauge_rows_done(&seen.figures);
	array_done(&coverage.gaps);
}

/* The rounding of ticks never shows more than the whole time, and the mean is right. */
static void test_ticks(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = tapes_new(0, 60);
	const struct gauge_rows_row *row;
	struct coverage coverage;
	struct seen seen = { .figures.cells = 1 };

	tapes_store_init(&store);
	GAUGE(tape, "cpu0/user_ms", 1, 0, 1010, 2000, 3010, 4000);
	GAUGE(tape, "cgroup/x/throttled_ms", 1, 0, 4000);
	tapes_store_put(&store, tape);
	CHECK_EQ(run(&store, &seen, 0, 60, NULL, &coverage), 0);
	gauge_rows_finish(&seen.figures);
	row = row_named(&seen.figures, "cpu0/user");
	check_near(row->least, 99);
	check_near(row->mean, 100);
	check_near(row->most, 100);
	check_near(row_named(&seen.figures, "cpu*/user")->most, 100);
	/* the sum of several CPUs may exceed 100 % */
	check_near(row_named(&seen.figures, "cgroup/x/throttled")->most, 400);
	gauge_rows_done(&seen.figures);
	array_done(&coverage.gaps);
}

/*
 * Rare events are counted. A step across the window's edge counts as a whole; a step that ends at
 * the edge does not count.
 */
static void test_counts(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = tapes_new(0, 60);
	const struct gauge_rows_row *row;
	struct coverage coverage;
	struct seen seen = { .figures.cells = 1 };

	tapes_store_init(&store);
	GAUGE(tape, "net/ens5/tx5_timeouts", 10, 5, 6, 6, 8, 8, 9);
	tapes_store_put(&store, tape);
	CHECK_EQ(run(&store, &seen, 10, 45, NULL, &coverage), 0);
	CHECK_STR(seen.text,
		  "net/ens5/tx5_timeouts 1.00; net/ens5/tx5_timeouts 0.00; net/ens5/tx5_timeouts "
		  "2.00; net/ens5/tx5_timeouts 0.00; net/ens5/tx5_timeouts 1.00; ");
	gauge_rows_finish(&seen.figures);
	row = row_named(&seen.figures, "net/ens5/tx5_timeouts");
	CHECK_EQ(row->unit, SERIES_COUNT);
	check_near(row->times, 3);
	check_near(row->most, 2);
	gauge_rows_done(&seen.figures);
	array_done(&coverage.gaps);
}

static void check_levels(const struct tapes_store *store, unsigned int from, unsigned int to,
			 double least, double mean, double most, double first_cell)
{
	const struct gauge_rows_row *row;
	struct coverage coverage;
	struct seen seen = { .figures.cells = 2 };

	CHECK_EQ(run(store, &seen, from, to, "memory_cgroups/tracked", &coverage), 0);
	gauge_rows_finish(&seen.figures);
	row = row_named(&seen.figures, "memory_cgroups/tracked");
	check_near(row->least, least);
	check_near(row->mean, mean);
	check_near(row->most, most);
	check_near(row->cells[0], first_cell);
	gauge_rows_done(&seen.figures);
	array_done(&coverage.gaps);
}

/* A level holds until the next reading, but not before its own reading. */
static void test_levels(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct tape *tape = tapes_new(0, 200);

	tapes_store_init(&store);
	GAUGE(tape, "memory_cgroups/tracked", 50, 12, 38, 0);
	tapes_store_put(&store, tape);
	check_levels(&store, 10, 40, 12, 12, 12, 12);
	check_levels(&store, 0, 100, 12, 25, 38, 12);
	check_levels(&store, 60, 80, 38, 38, 38, 38);
	/* the last reading holds for as long as the interval before it */
	check_levels(&store, 90, 130, 0, (10 * 38 + 30 * 0) / 40.0, 38, 19);
	check_levels(&store, 90, 190, 0, (10 * 38 + 50 * 0) / 60.0, 38, 10 * 38 / 50.0);
}

/*
 * If a step crosses the window's edge, only the part inside counts, in the mean and in the cells.
 */
static void test_part(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	const struct gauge_rows_row *row;
	struct coverage coverage;
	struct seen seen = { .figures.cells = 1 };

	make_store(&store);
	CHECK_EQ(run(&store, &seen, 15, 30, "cpu0/*", &coverage), 0);
	gauge_rows_finish(&seen.figures);
	row = row_named(&seen.figures, "cpu0/user");
	check_near(row->mean, (5 * 10 + 10 * 50) / 15.0);
	check_near(row->cells[0], row->mean);
	gauge_rows_done(&seen.figures);
	array_done(&coverage.gaps);
}

static const char unwrapped[] =
	"  figure                           least       mean       most      usual\n"
	"! cpu0/user                        0.0 %     12.3 %      100 %      4.5 %  _:?=@\n"
	"  a name longer than its room      1235k       0.50      99999          -  __?__\n"
	"  net/eth0/tx5_timeouts                     3 times            0.50 times  _:?=@\n"
	"  net/eth0/tx5_cpu                    12          -         13          -  _:?=@\n"
	"  oldest                            59 s      2 min     2.50 d          -  __?__\n";

static const struct chart_row *chart_rows(const double *cells)
{
	static struct chart_row rows[] = {
		{ .name = "cpu0/user", "%", 0, 12.345, 100, 4.5, .full = 100, .unusual = true },
		{ .name = "a name longer than its room", "", 1234567, 0.5, 99999, NAN },
		{ .name = "net/eth0/tx5_timeouts",
		  "times",
		  0,
		  3,
		  0,
		  0.5,
		  .full = 100,
		  .is_count = true },
		{ .name = "net/eth0/tx5_cpu", "", 12, NAN, 13, NAN, .full = 100 },
		{ .name = "oldest", "s", 59, 120, 216000, NAN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i].cells = cells;
	return rows;
}

static void check_chart(const struct chart *chart, const struct terminal *terminal, size_t rows,
			const char *expected)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	CHECK_EQ(chart_draw(chart, terminal, &text), rows);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, expected);
}

static void test_chart(void)
{
	static const double cells[] = { 0, 25, NAN, 50, 100 };
	struct chart chart = { .rows = chart_rows(cells), .count = 5, .cells = ARRAY_SIZE(cells) };

	check_chart(&chart, &(struct terminal){ .width = 80 }, 5, unwrapped);
	check_chart(&chart, &(struct terminal){ .width = 60, .wrap = 60, .unicode = true }, 5,
		    "  figure                   mean      usual\n"
		    "▲ cpu0/user              12.3 %      4.5 %  ▁▂ ▄█\n"
		    "  a name longer than its room\n"
		    "                           0.50          -  ▁▁ ▁▁\n"
		    "  net/eth0/tx5_timeouts\n"
		    "                        3 times 0.50 times  ▁▂ ▄█\n"
		    "  net/eth0/tx5_cpu           13          -  ▁▂ ▄█\n"
		    "  oldest                  2 min          -  ▁▁ ▁▁\n");
	check_chart(&chart, &(struct terminal){ .width = 40, .wrap = 40 }, 5,
		    "  figure               mean\n"
		    "! cpu0/user          12.3 %  _:?=@\n"
		    "  a name longer than its room\n"
		    "                       0.50  __?__\n"
		    "  net/eth0/tx5_timeouts\n"
		    "                    3 times  _:?=@\n"
		    "  net/eth0/tx5_cpu\n"
		    "                         13  _:?=@\n"
		    "  oldest              2 min  __?__\n");
	/* the first rows remain on a low terminal; a long name takes a line of its own */
	chart.lines = 5;
	check_chart(&chart, &(struct terminal){ .width = 40, .wrap = 40 }, 3,
		    "  figure               mean\n"
		    "! cpu0/user          12.3 %  _:?=@\n"
		    "  a name longer than its room\n"
		    "                       0.50  __?__\n"
		    "  net/eth0/tx5_timeouts\n"
		    "                    3 times  _:?=@\n");
	chart.lines = 8;
	check_chart(&chart, &(struct terminal){ .width = 80, .wrap = 80 }, 5,
		    "  figure                         mean       most      usual\n"
		    "! cpu0/user                    12.3 %      100 %      4.5 %  _:?=@\n"
		    "  a name longer than its room\n"
		    "                                 0.50      99999          -  __?__\n"
		    "  net/eth0/tx5_timeouts       3 times            0.50 times  _:?=@\n"
		    "  net/eth0/tx5_cpu                  -         13          -  _:?=@\n"
		    "  oldest                        2 min     2.50 d          -  __?__\n");
}

/* Marks stand beside the titles, above the plots, and below the axis as a list. */
static void test_chart_marks(void)
{
	static const double cells[] = { 0, 25, NAN, 50, 100, 0, 0, 0, 0, 0,
					0, 0,  0,   0,	0,   0, 0, 0, 0 };
	const struct mark mark = { TAPES_REALTIME + 50 * NSEC_PER_SEC,
				   TAPES_REALTIME + 44 * NSEC_PER_SEC, "ena.tx_stall  eth0" };
	const struct chart chart = { .rows = chart_rows(cells),
				     .count = 1,
				     .cells = ARRAY_SIZE(cells),
				     .from_ns = TAPES_REALTIME,
				     .to_ns = TAPES_REALTIME + 60 * NSEC_PER_SEC,
				     .utc = true,
				     .marks = &mark,
				     .mark_count = 1,
				     .at_ns = TAPES_REALTIME + 20 * NSEC_PER_SEC };

	check_chart(
		&chart, &(struct terminal){ .width = 80, .wrap = 80 }, 1,
		"  figure                         mean       most      usual        *      +-v\n"
		"! cpu0/user                    12.3 %      100 %      4.5 %  _:?=@______________\n"
		"                                                             |03:12:00 03:13:00|\n"
		"v 03:12:50.000  ena.tx_stall  eth0\n");
}

static struct gauge_rows_row usual_row(const char *name, enum series_unit unit, double least,
				       double mean, double most)
{
	return (struct gauge_rows_row){ .name = (char *)name,
					.unit = unit,
					.least = least,
					.mean = mean,
					.most = most,
					.times = mean,
					.weight_s = 60 };
}

/* Rows that changed come first. Constant rows and idle time come last. */
static void test_usual(void)
{
	struct gauge_rows_row now[] = {
		usual_row("a/constant", SERIES_LEVEL, 7, 7, 7),
		usual_row("b/alone", SERIES_LEVEL, 10, 11, 12),
		usual_row("cpu0/idle", SERIES_PER_CENT, 0, 5, 100),
		usual_row("cpu0/system", SERIES_PER_CENT, 0, 60, 100),
		usual_row("cpu0/tiny", SERIES_PER_CENT, 0, 0.1, 1),
		usual_row("cpu0/user", SERIES_PER_CENT, 0, 21, 100),
		usual_row("d/timeouts", SERIES_COUNT, 0, 9, 9),
		usual_row("e/unread", SERIES_LEVEL, INFINITY, NAN, -INFINITY),
	};
	struct gauge_rows_row usual[] = {
		usual_row("a/constant", SERIES_LEVEL, 7, 7, 7),
		usual_row("cpu0/idle", SERIES_PER_CENT, 0, 70, 100),
		usual_row("cpu0/system", SERIES_PER_CENT, 0, 6, 10),
		usual_row("cpu0/tiny", SERIES_PER_CENT, 0, 0.01, 1),
		usual_row("cpu0/user", SERIES_PER_CENT, 0, 20, 50),
		usual_row("d/timeouts", SERIES_COUNT, 0, 1, 2),
	};
	static const char *const order[] = { "cpu0/system", "d/timeouts", "b/alone",   "cpu0/user",
					     "cpu0/tiny",   "a/constant", "cpu0/idle", "e/unread" };
	struct gauge_rows rows = { .rows = { now, ARRAY_SIZE(now), ARRAY_SIZE(now) } };
	const struct gauge_rows others = { .rows = { usual, ARRAY_SIZE(usual),
						     ARRAY_SIZE(usual) } };

	gauge_usual_compare(&rows, &others);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		CHECK_STR(now[i].name, order[i]);
		CHECK_EQ(gauge_usual_stands_out(&now[i]), i < 2);
		CHECK_EQ(gauge_usual_is_calm(&now[i]), i > 4);
	}
	/* a count is compared with as many events as are usual in the same time */
	CHECK(fabs(now[1].usual - 1) < 1e-9);
	CHECK(isnan(now[2].usual));
	/* too little time to know what is usual */
	usual[2].weight_s = 9;
	gauge_usual_compare(&rows, &others);
	for (size_t i = 0; i < ARRAY_SIZE(now); i++)
		CHECK(strcmp(now[i].name, "cpu0/system") != 0 ||
		      (isnan(now[i].usual) && !gauge_usual_stands_out(&now[i])));
}

/* A figure below its usual value has the mark of a fall. */
static void test_chart_fall(void)
{
	static const double values[] = { 1, 2 };
	static const struct chart_row row = { .name = "host/switches",
					      .unit = "",
					      .mean = 1,
					      .usual = 4,
					      .cells = values,
					      .unusual = true,
					      .below = true };
	const struct chart chart = { .rows = &row, .count = 1, .cells = ARRAY_SIZE(values) };
	_cleanup_(buffer_done) struct buffer text = { 0 };

	chart_draw(&chart, &(struct terminal){ .width = 80, .unicode = true }, &text);
	buffer_u8(&text, 0);
	CHECK(strstr((char *)text.data, "▼ host/switches") != NULL);
}

static void check_axis(unsigned int cells, uint64_t length_ns, const char *expected)
{
	static const double values[40] = { 1, 2 };
	static const struct chart_row row = { .name = "host/running", "", 0, 1, 2, NAN, values, 2 };
	const struct chart chart = { .rows = &row,
				     .count = 1,
				     .cells = cells,
				     .from_ns = TAPES_REALTIME,
				     .to_ns = TAPES_REALTIME + length_ns,
				     .utc = true };
	_cleanup_(buffer_done) struct buffer text = { 0 };
	const char *axis = "";

	chart_draw(&chart, &(struct terminal){ .width = 48 }, &text);
	buffer_u8(&text, 0);
	for (const char *line = (char *)text.data; *line; line = strchr(line, '\n') + 1)
		axis = line;
	CHECK_STR(axis, expected);
}

/* The times at both ends of a plot appear below it if both fit. */
static void test_axis(void)
{
	const uint64_t day_ns = 86400 * NSEC_PER_SEC;

#define ROW "  host/running            "
#define AXIS "                                                              "
	check_axis(19, 60 * NSEC_PER_SEC, AXIS "|03:12:00 03:13:00|\n");
	check_axis(24, 60 * NSEC_PER_SEC, AXIS "|03:12:00      03:13:00|\n");
	check_axis(19, 500 * NSEC_PER_MSEC, AXIS "|03:12:00 03:12:00|\n");
	check_axis(27, 500 * NSEC_PER_MSEC, AXIS "|03:12:00.000 03:12:00.500|\n");
	check_axis(20, 3 * day_ns, AXIS "|11-18T03  11-21T03|\n");
	/* no axis: the last line is the row of the figure */
	check_axis(18, 60 * NSEC_PER_SEC,
		   ROW "0          1          2          -  =@________________\n");
}

CHECK_MAIN({ "names with and without units", test_names },
	   { "steps of counters and of levels", test_steps },
	   { "steps that span a window", test_window },
	   { "readings in segments beside the window", test_neighbours },
	   { "a gap gets nothing", test_gap }, { "another boot starts anew", test_boots },
	   { "rows have cells", test_rows },
	   { "a level holds until the next reading", test_levels },
	   { "steps across the window's edges", test_part }, { "rounding of ticks", test_ticks },
	   { "rare events are counted", test_counts }, { "lines with plots", test_chart },
	   { "marks above plots", test_chart_marks }, { "a fall has a mark", test_chart_fall },
	   { "the times below plots", test_axis }, { "news comes first", test_usual })
