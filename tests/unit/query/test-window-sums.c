// SPDX-License-Identifier: GPL-2.0-only
/* Digests and the samples at the edges give the same sums as all samples, row by row. */
#include "tests/check.h"

#include "query/sums/fold.h"
#include "query/sums/sums-series.h"
#include "query/sums/window-sums.h"
#include "tests/random-stores.h"
#include "tests/selections.h"
#include "tests/summed-stores.h"

static const struct filter all;

static struct window_sums read_sums(struct store_reader *reader,
				    const struct window_sums_options *options)
{
	struct window_sums sums = { 0 };
	struct error error = { 0 };

	if (window_sums_read(reader, options, &sums, &error) < 0)
		CHECK_FAIL("%s", error.text);
	return sums;
}

static void check_class(const struct stack_class *one, const struct stack_class *other)
{
	for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
		CHECK_EQ(one->ns[kind], other->ns[kind]);
}

/* Returns the number of the other tally's name. */
static uint32_t name_in(const struct tally *other, const struct tally *tally, uint32_t name)
{
	const char *text = strings_at(&tally->names, name);

	return strings_find(&other->names, text, strlen(text));
}

static void check_names(const struct tally *tally, const struct tally *other)
{
	static const struct tally_function nothing;

	for (uint32_t i = 1; i < strings_count(&tally->names); i++) {
		const struct tally_function *function = &tally->functions.items[i];
		uint32_t number = name_in(other, tally, i);
		const struct tally_function *same =
			number ? &other->functions.items[number] : &nothing;

		CHECK_EQ(function->self_ns, same->self_ns);
		CHECK_EQ(function->total_ns, same->total_ns);
		CHECK_EQ(function->led_ns, same->led_ns);
		CHECK_EQ(function->kernel, same->kernel);
		if (number)
			check_class(&tally->groups.items[i], &other->groups.items[number]);
		else
			CHECK_EQ(stack_class_work_ns(&tally->groups.items[i]), 0);
	}
}

/* Returns the time of the other tally's row with the same names. */
static uint64_t ns_of_row(const struct tally *tally, const struct tally_row *row,
			  const struct tally *other, const struct tally_rows *rows)
{
	uint32_t b = name_in(other, tally, row->b), c = row->c ? name_in(other, tally, row->c) : 0;

	for (size_t i = 0; i < rows->list.count; i++) {
		const struct tally_row *same = &rows->list.items[i];

		if (same->a == row->a && same->b == b && same->c == c)
			return same->ns;
	}
	return 0;
}

static void check_rows(const struct tally *tally, const struct tally_rows *rows,
		       const struct tally *other, const struct tally_rows *others)
{
	CHECK_EQ(rows->list.count, others->list.count);
	for (size_t i = 0; i < rows->list.count; i++)
		CHECK_EQ(rows->list.items[i].ns,
			 ns_of_row(tally, &rows->list.items[i], other, others));
}

static void check_threads(const struct tally *tally, const struct tally *other)
{
	CHECK_EQ(tally->threads.list.count, other->threads.list.count);
	for (size_t i = 0; i < tally->threads.list.count; i++) {
		const struct tally_row *row = &tally->threads.list.items[i];
		bool found = false;

		for (size_t j = 0; j < other->threads.list.count; j++) {
			const struct tally_row *same = &other->threads.list.items[j];

			if (same->a != row->a || same->b != row->b ||
			    same->c != name_in(other, tally, row->c))
				continue;
			found = true;
			CHECK_EQ(same->ns, row->ns);
			CHECK_EQ(other->places.items[j].cpu, tally->places.items[i].cpu);
			CHECK_EQ(other->places.items[j].ns, tally->places.items[i].ns);
		}
		CHECK(found);
	}
}

static void check_tallies(const struct tally *tally, const struct tally *other)
{
	CHECK_EQ(tally->samples, other->samples);
	CHECK_EQ(tally->sample_ns, other->sample_ns);
	CHECK_EQ(tally->host_cpus, other->host_cpus);
	check_class(&tally->all, &other->all);
	CHECK_EQ(tally->cpus.count, other->cpus.count);
	for (size_t i = 0; i < tally->cpus.count; i++)
		check_class(&tally->cpus.items[i], &other->cpus.items[i]);
	check_names(tally, other);
	check_names(other, tally);
	check_threads(tally, other);
	check_rows(tally, &tally->shares, other, &other->shares);
	check_rows(tally, &tally->spots, other, &other->spots);
}

/* Stored fractions lack idle time, because pictures do not show it. */
static void check_heats(const struct heat *heat, const struct heat *other)
{
	CHECK_EQ(heat->rows, other->rows);
	CHECK_EQ(heat->columns, other->columns);
	CHECK_EQ(heat->host_cpus, other->host_cpus);
	for (size_t i = 0; i < heat->cells.count; i++)
		for (int kind = heat->by == HEAT_CPUS ? 0 : 1; kind < STACK_CLASS_KINDS; kind++)
			CHECK_EQ(heat->cells.items[i].ns[kind], other->cells.items[i].ns[kind]);
}

static void check_answers(const struct window_sums *sums, const struct window_sums *other)
{
	CHECK_EQ(sums->samples, other->samples);
	CHECK_EQ(sums->segments, other->segments);
	CHECK_EQ(other->digested, 0);
	CHECK_EQ(sums->coverage.frames, other->coverage.frames);
	CHECK_EQ(sums->coverage.named, other->coverage.named);
	CHECK_EQ(sums->coverage.stacks.frame_pointers, other->coverage.stacks.frame_pointers);
	CHECK_EQ(sums->coverage.covered_ns, other->coverage.covered_ns);
	CHECK_EQ(sums->coverage.unnamed.count, other->coverage.unnamed.count);
	if (sums->tally)
		check_tallies(sums->tally, other->tally);
	if (sums->heat)
		check_heats(sums->heat, other->heat);
}

/* Asks with and without digests. Returns how many digests sufficed. */
static uint64_t compare(struct store_reader *reader, struct window_sums_options options)
{
	_cleanup_(window_sums_done) struct window_sums sums = read_sums(reader, &options);
	struct window_sums plain;
	uint64_t digested = sums.digested;

	options.samples_only = true;
	options.threads = 1;
	plain = read_sums(reader, &options);
	check_answers(&sums, &plain);
	window_sums_done(&plain);
	return digested;
}

static uint64_t compare_all(struct store_reader *reader, const struct window *window)
{
	struct heat cpus = { .by = HEAT_CPUS, .column_ns = heat_column_ns(window, 6) };
	struct heat fractions = { .by = HEAT_FRACTIONS, .rows = 240 };
	struct window_sums_options options = {
		.question = { .window = *window, .filter = &all },
		.parts = TALLY_ALL,
		.threads = 2,
	};
	uint64_t digested;

	fractions.column_ns = cpus.column_ns;
	digested = compare(reader, options);
	options.by = TALLY_BY_THREAD;
	CHECK_EQ(compare(reader, options), 0);
	options.parts = 0;
	options.grid = &cpus;
	digested += compare(reader, options);
	options.grid = &fractions;
	digested += compare(reader, options);
	return digested;
}

static struct window random_part(const struct window *whole)
{
	uint64_t length_s = (whole->to_ns - whole->from_ns) / NSEC_PER_SEC;
	uint64_t from_s = random_below(length_s), to_s = from_s + 1 + random_below(length_s);

	return (struct window){
		.from_ns = whole->from_ns + from_s * NSEC_PER_SEC + random_below(3) * 333333333,
		.to_ns = MIN(whole->from_ns + to_s * NSEC_PER_SEC + random_below(2) * 100000001,
			     whole->to_ns),
	};
}

static void test_random_tapes(void)
{
	for (int round = 0; round < 20; round++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
		struct window window = { .from_ns = TAPES_REALTIME - 60 * NSEC_PER_SEC,
					 .to_ns = TAPES_REALTIME + 100 * NSEC_PER_SEC };

		random_store_init(&store);
		CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
		compare_all(reader, &window);
		window = random_part(&window);
		compare_all(reader, &window);
	}
}

/* Stores that are large enough for digests, with pictures of fractions. */
static void test_large_tapes(void)
{
	uint64_t digested = 0;

	for (int round = 0; round < 2; round++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
		struct window window = summed_store_init(&store), part;

		CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
		digested += compare_all(reader, &window);
		for (int i = 0; i < 4; i++) {
			part = random_part(&window);
			digested += compare_all(reader, &part);
		}
	}
	CHECK(digested >= 18);
}

static const struct sums_series_row series_rows[] = {
	{ SUMS_SERIES_CPU, .cpu = 2 },
	{ SUMS_SERIES_CPU, .cpu = 4000 },
	{ SUMS_SERIES_GROUP, .name = "kworker/*" },
	{ SUMS_SERIES_GROUP, .name = "cc1" },
	{ SUMS_SERIES_FUNCTION, .name = "f3" },
	{ SUMS_SERIES_FUNCTION, .name = "[libc.so.6]" },
	{ SUMS_SERIES_FUNCTION, .name = "of no tape" },
};

/* Compares a row's value with the tally of the same time. */
static void check_series_value(const struct tally *tally, const struct sums_series_row *row,
			       const struct sums_series_value *value)
{
	static const struct stack_class idle;
	static const struct tally_function nothing;
	uint32_t name = row->name ? strings_find(&tally->names, row->name, strlen(row->name)) : 0;
	const struct tally_function *function = row->kind == SUMS_SERIES_FUNCTION && name
							? &tally->functions.items[name]
							: &nothing;

	if (row->kind == SUMS_SERIES_CPU)
		check_class(&value->spent,
			    row->cpu < tally->cpus.count ? &tally->cpus.items[row->cpu] : &idle);
	if (row->kind == SUMS_SERIES_GROUP)
		check_class(&value->spent, name ? &tally->groups.items[name] : &idle);
	CHECK_EQ(value->self_ns, function->self_ns);
	CHECK_EQ(value->total_ns, function->total_ns);
}

/* The wall clock of a tape may be set back, so that stretches overlap. */
static bool stands_alone(const struct sums_series *series, size_t i)
{
	const struct sums_series_stretch *stretch = &series->stretches.items[i];

	for (size_t j = 0; j < series->stretches.count; j++) {
		const struct sums_series_stretch *other = &series->stretches.items[j];

		if (j != i && other->from_ns < stretch->to_ns && other->to_ns > stretch->from_ns)
			return false;
	}
	return true;
}

/* The sum over all stretches of a series. Returns how many of them are made of digests. */
static uint64_t add_stretches(const struct sums_series *series,
			      struct sums_series_value sums[ARRAY_SIZE(series_rows)],
			      uint64_t *ret_samples)
{
	uint64_t digested = 0;

	*ret_samples = 0;
	for (size_t i = 0; i < series->stretches.count; i++) {
		const struct sums_series_stretch *stretch = &series->stretches.items[i];

		CHECK(stretch->covered_ns <= stretch->to_ns - stretch->from_ns);
		CHECK(!i || stretch->from_ns >= stretch[-1].from_ns);
		digested += stretch->digested;
		*ret_samples += stretch->samples;
		for (size_t j = 0; j < series->rows; j++) {
			const struct sums_series_value *value = sums_series_value(series, i, j);

			stack_class_add(&sums[j].spent, &value->spent);
			sums[j].self_ns += value->self_ns;
			sums[j].total_ns += value->total_ns;
		}
	}
	return digested;
}

/* Each stretch has the sums of its time. Returns how many stretches are made of digests. */
static uint64_t check_series(struct store_reader *reader, const struct window *window,
			     const struct filter *filter)
{
	const struct sums_series_options options = {
		.question = { .window = *window, .filter = filter },
		.rows = series_rows,
		.count = ARRAY_SIZE(series_rows),
		.threads = 2,
	};
	struct window_sums_options plain = {
		.question = options.question, .parts = TALLY_ALL, .samples_only = true, .threads = 1
	};
	_cleanup_(sums_series_done) struct sums_series series = { 0 };
	struct sums_series_value sums[ARRAY_SIZE(series_rows)] = { 0 };
	struct window_sums same;
	struct error error = { 0 };
	uint64_t samples, digested;

	if (sums_series_read(reader, &options, &series, &error) < 0)
		CHECK_FAIL("%s", error.text);
	digested = add_stretches(&series, sums, &samples);
	CHECK_EQ(samples, series.samples);
	same = read_sums(reader, &plain);
	for (size_t j = 0; j < series.rows; j++)
		check_series_value(same.tally, &series_rows[j], &sums[j]);
	window_sums_done(&same);
	for (size_t i = 0; i < series.stretches.count; i++) {
		if (!stands_alone(&series, i))
			continue;
		plain.question.window.from_ns = series.stretches.items[i].from_ns;
		plain.question.window.to_ns = series.stretches.items[i].to_ns;
		same = read_sums(reader, &plain);
		CHECK_EQ(same.samples, series.stretches.items[i].samples);
		check_class(&same.tally->all, &series.stretches.items[i].all);
		for (size_t j = 0; j < series.rows; j++)
			check_series_value(same.tally, &series_rows[j],
					   sums_series_value(&series, i, j));
		window_sums_done(&same);
	}
	return digested;
}

static void test_series(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct filter one = { .comm = "cc1" };
	struct window window = summed_store_init(&store), part;
	uint64_t digested;

	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	digested = check_series(reader, &window, &all);
	CHECK_EQ(check_series(reader, &window, &one), 0);
	for (int i = 0; i < 3; i++) {
		part = random_part(&window);
		digested += check_series(reader, &part, &all);
	}
	CHECK(digested >= 2);
}

CHECK_MAIN({ "random tapes", test_random_tapes },
	   { "a series has the sums of each stretch", test_series },
	   { "large tapes: digests suffice, and give the same", test_large_tapes })
