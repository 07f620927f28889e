// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/host-name.h"
#include "cli/answer/screen.h"
#include "cli/options/command.h"
#include "cli/options/print.h"
#include "cli/window/window-options.h"
#include "draw/columns.h"
#include "query/read/recorded.h"
#include "query/read/segment-outline.h"
#include "query/read/store-host.h"
#include "store/read/store-reader.h"

static const struct option options[] = {
	WINDOW_OPTIONS,
	{ "work", 0, NULL, "also how busy the CPUs were, and with what" },
	JSON_OPTION,
	{ 0 },
};

static const char about[] =
	"Lists all segments, or those that overlap a window. Rows between them show when nothing\n"
	"was recorded, and why. With --work, each segment shows the part of the CPUs that was\n"
	"busy and in the kernel, the thread name that had most of it, and the function that\n"
	"was on top most often.\n"
	"\n" WINDOW_ABOUT;

static const struct cpu_set_filter all_cpus;
static const struct recorded_losses all_losses = { .cpus = &all_cpus };

#define BOOT_SHOWN 8

static const struct columns_column segment_columns[] = {
	{ "begin", .yield = COLUMNS_SHORTENS, .turn = 1 },
	{ "length", .right = true, .yield = COLUMNS_LEAVES, .turn = 5 },
	{ "samples", .right = true },
	{ "lost", .right = true, .styled = true },
	{ "kB", .right = true, .yield = COLUMNS_LEAVES, .turn = 3 },
	{ "segment", .yield = COLUMNS_SHORTENS, .turn = 2 },
};

static const struct columns_column work_columns[] = {
	{ "begin", .yield = COLUMNS_SHORTENS, .turn = 1 },
	{ "length", .right = true, .yield = COLUMNS_LEAVES, .turn = 5 },
	{ "samples", .right = true, .yield = COLUMNS_LEAVES, .turn = 3 },
	{ "lost", .right = true, .styled = true },
	{ "busy", .right = true },
	{ "kernel", .right = true },
	{ "thread", .yield = COLUMNS_SHORTENS, .turn = 3 },
	{ "of busy", .right = true, .yield = COLUMNS_LEAVES, .turn = 4 },
	{ "function", .yield = COLUMNS_SHORTENS, .turn = 2 },
	{ "of busy", .right = true, .yield = COLUMNS_LEAVES, .turn = 4 },
};

static void add_times(struct columns *columns, uint64_t begin_ns, uint64_t end_ns, bool utc)
{
	char begin[TIME_TEXT_SIZE], brief[TIME_TEXT_SIZE], length[32];

	time_format(begin_ns, utc, 3, begin);
	columns_add_brief(columns, begin, screen_short_time(begin, true, brief));
	columns_add(columns, "%s", duration_format(end_ns - begin_ns, length, sizeof(length)));
}

/* Shortens "11111111-2222-3333-4444-555555555555-0000000003.tape" to "11111111..0000000003.tape".
 */
static void add_name(struct columns *columns, const char *name)
{
	const char *number = strrchr(name, '-');
	char brief[64];

	if (number && number - name > BOOT_SHOWN)
		snprintf(brief, sizeof(brief), "%.*s..%s", BOOT_SHOWN, name, number + 1);
	else
		number = NULL;
	columns_add_brief(columns, name, number ? brief : NULL);
}

static void segments_add_remark(struct columns *columns, const struct store_segment *segment)
{
	char remark[sizeof(segment->damage) + 16];

	snprintf(remark, sizeof(remark), "unreadable: %s", segment->damage);
	columns_end_row(columns, *segment->damage    ? remark
				 : segment->unsealed ? "not sealed yet"
						     : NULL);
	if (segment->lost)
		columns_style_row(columns, STYLE_ALERT);
}

static void add_segment(struct columns *columns, const struct store_segment *segment, bool utc)
{
	add_times(columns, segment->begin_ns, segment->end_ns, utc);
	columns_add(columns, "%llu", (unsigned long long)segment->samples);
	columns_add(columns, "%llu", (unsigned long long)segment->lost);
	columns_add(columns, "%.1f", segment->bytes / 1000.0);
	add_name(columns, segment->name);
	segments_add_remark(columns, segment);
}

static void segments_add_share(struct columns *columns, double part, double whole)
{
	if (whole > 0)
		columns_add(columns, "%.1f %%", MIN(100.0, 100 * part / whole));
	else
		columns_add(columns, "-");
}

/* Adds the cells of what the CPUs did. Without an outline, that is not known. */
static void segments_add_work(struct columns *columns, const struct store_segment *segment,
			      const struct outline *outline)
{
	static const struct outline nothing;
	const struct outline *of = outline ? outline : &nothing;
	const struct outline_leader *leader = &of->leader;
	struct stack_class spent = outline_spent(of);
	double length_ns = (double)(segment->perf_end_ns - segment->perf_begin_ns);
	double all_ns = length_ns * (double)MAX(of->host_cpus, (uint64_t)of->cpus.count);
	double work_ns = stack_class_work_ns(&spent);

	segments_add_share(columns, work_ns, all_ns);
	segments_add_share(columns, work_ns - spent.ns[STACK_CLASS_USER], all_ns);
	columns_add(columns, "%s", leader->comm ? strings_at(&of->names, leader->comm) : "-");
	segments_add_share(columns, (double)(of->sample_ns * leader->comm_samples), work_ns);
	columns_add(columns, "%s",
		    leader->function ? strings_at(&of->names, leader->function) : "-");
	segments_add_share(columns, (double)(of->sample_ns * leader->function_samples), work_ns);
}

/*
 * Adds a row for a gap between segments, with the reason. Unreadable segments are not gaps here,
 * because they have rows as segments.
 */
static void add_gap(struct columns *columns, const struct coverage_gap *gap, bool utc)
{
	char remark[sizeof(gap->why) + 2];

	add_times(columns, gap->from_ns, gap->to_ns, utc);
	for (size_t i = 2; i + 1 < columns->count; i++)
		columns_add(columns, "-");
	columns_add(columns, "%s", "");
	snprintf(remark, sizeof(remark), "(%s)", gap->why);
	columns_end_row(columns, remark);
}

/* Adds the gaps that begin before a moment, from number *at on. */
static void segments_add_gaps(struct columns *columns, const struct coverage *coverage, size_t *at,
			      uint64_t before_ns, bool utc)
{
	for (; *at < coverage->gaps.count && coverage->gaps.items[*at].from_ns < before_ns; ++*at)
		if (!coverage->gaps.items[*at].unread)
			add_gap(columns, &coverage->gaps.items[*at], utc);
}

/*
 * Prints which segments are not in the table any more, because retention removed them or they
 * vanished.
 */
static void say_gone(const struct invocation *invocation, struct store_reader *reader,
		     const struct window *window)
{
	static const char *const what[] = { "removed by retention", "the files vanished" };
	struct store_removed_ranges gone = { 0 };
	bool utc = option_given(invocation, "utc");
	int r = store_reader_removed(reader, window->from_ns, window->to_ns, &gone, NULL);

	for (int vanished = 0; r == 0 && vanished < 2; vanished++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };

		if (gone_describe(&gone, vanished, utc, &text))
			say(invocation, "%s: %s", what[vanished], buffer_shown(&text));
	}
	array_done(&gone.list);
}

/* The table under construction. */
struct segments_table {
	struct columns columns;
	const struct coverage *coverage;
	/* the next gap */
	size_t gap;
	bool utc, work;
};

static int segments_add_row(void *context, const struct store_segment *segment,
			    const struct outline *outline)
{
	struct segments_table *table = context;

	segments_add_gaps(&table->columns, table->coverage, &table->gap, segment->begin_ns,
			  table->utc);
	if (!table->work) {
		add_segment(&table->columns, segment, table->utc);
		return 0;
	}
	add_times(&table->columns, segment->begin_ns, segment->end_ns, table->utc);
	columns_add(&table->columns, "%llu", (unsigned long long)segment->samples);
	columns_add(&table->columns, "%llu", (unsigned long long)segment->lost);
	segments_add_work(&table->columns, segment, outline);
	segments_add_remark(&table->columns, segment);
	return 0;
}

static int segments_fill_table(struct store_reader *reader, const struct store_segments *segments,
			       struct segments_table *table)
{
	int r = 0;

	if (table->work)
		r = segment_outlines_read(reader, segments, segments_add_row, table);
	else
		for (size_t i = 0; r == 0 && i < segments->list.count; i++)
			r = segments_add_row(table, &segments->list.items[i], NULL);
	segments_add_gaps(&table->columns, table->coverage, &table->gap, UINT64_MAX, table->utc);
	return r;
}

static int segments_print_table(const struct invocation *invocation, struct store_reader *reader,
				const struct store_segments *segments, const struct window *window,
				const struct coverage *coverage)
{
	struct segments_table table = {
		.columns = { .list = segment_columns, .count = ARRAY_SIZE(segment_columns) },
		.coverage = coverage,
		.utc = option_given(invocation, "utc"),
		.work = option_given(invocation, "work"),
	};
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct terminal terminal;
	uint64_t bytes = 0;
	char size[32];
	int code, r;

	if (table.work) {
		table.columns.list = work_columns;
		table.columns.count = ARRAY_SIZE(work_columns);
	}
	r = segments_fill_table(reader, segments, &table);
	for (size_t i = 0; i < segments->list.count; i++)
		bytes += segments->list.items[i].bytes;
	screen_read_lines(invocation, &terminal);
	host_name_put_head(invocation, &coverage->facts, window_given(invocation) ? window : NULL,
			   &terminal, &text);
	columns_put(&table.columns, &terminal, &text);
	columns_done(&table.columns);
	if (r < 0)
		return fail(r, NULL);
	code = screen_print_drawing(&terminal, &text);
	if (code != EXIT_DONE)
		return code;
	say(invocation, "%zu segment%s, %s in %s", segments->list.count,
	    plural(segments->list.count), size_format(bytes, size, sizeof(size)),
	    store_path(invocation));
	say_gone(invocation, reader, window);
	return EXIT_DONE;
}

static void segments_put_leader(struct buffer *json, const struct outline *outline,
				const struct outline_leader *leader)
{
	json_key(json, "thread");
	json_string(json, strings_at(&outline->names, leader->comm));
	json_key(json, "thread_ns");
	json_u64(json, outline->sample_ns * leader->comm_samples);
	json_key(json, "function");
	json_string(json, strings_at(&outline->names, leader->function));
	json_key(json, "function_ns");
	json_u64(json, outline->sample_ns * leader->function_samples);
}

static void segments_put_classes(struct buffer *json, const struct stack_class *spent)
{
	static const char *const keys[STACK_CLASS_KINDS] = { "idle_ns", "user_ns", "kernel_ns",
							     "irq_ns" };

	for (int kind = 0; kind < STACK_CLASS_KINDS; kind++) {
		json_key(json, keys[kind]);
		json_u64(json, spent->ns[kind]);
	}
}

/* Puts what the CPUs of a segment did. The context is the text. */
static int segments_put_work(void *context, const struct store_segment *segment,
			     const struct outline *outline)
{
	struct buffer *json = context;
	struct stack_class spent;

	(void)segment;
	if (!outline) {
		json_null(json);
		return 0;
	}
	spent = outline_spent(outline);
	json_open(json, '{');
	json_key(json, "host_cpus");
	json_u64(json, outline->host_cpus);
	segments_put_classes(json, &spent);
	segments_put_leader(json, outline, &outline->leader);
	json_key(json, "cpus");
	json_open(json, '[');
	for (size_t i = 0; i < outline->cpus.count; i++) {
		const struct outline_cpu *cpu = &outline->cpus.items[i];
		struct stack_class own;

		for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
			own.ns[kind] = outline->sample_ns * cpu->n[kind];
		json_open(json, '{');
		json_key(json, "cpu");
		json_u64(json, cpu->cpu);
		segments_put_classes(json, &own);
		segments_put_leader(json, outline, &cpu->leader);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
	return 0;
}

/* Opens the object of a segment. */
static void segments_put_segment(struct buffer *json, const struct store_segment *segment,
				 const struct coverage *coverage)
{
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "sequence", segment->sequence },
		{ "samples", segment->samples },
		{ "lost", segment->lost },
		{ "skipped", coverage->skipped },
		{ "throttled", coverage->throttled },
		{ "limit", coverage->limit },
		{ "offline", coverage->offline },
		{ "incidents", segment->incidents },
		{ "bytes", segment->bytes },
	};

	json_open(json, '{');
	json_key(json, "name");
	json_string(json, segment->name);
	json_key(json, "boot_id");
	json_string(json, segment->boot_id);
	json_time(json, "begin", segment->begin_ns);
	json_time(json, "end", segment->end_ns);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		json_key(json, numbers[i].key);
		json_u64(json, numbers[i].value);
	}
	json_key(json, "sealed");
	json_bool(json, !segment->unsealed);
	json_key(json, "damage");
	json_string(json, segment->damage);
}

static int segments_put_known(struct buffer *json, struct store_reader *reader,
			      struct store_segment *segment, bool work, struct error *error)
{
	const struct store_segments one = { .list = { segment, 1, 1 } };
	const struct window window = { .from_ns = segment->begin_ns, .to_ns = segment->end_ns };
	_cleanup_(coverage_done) struct coverage coverage = { 0 };
	int r = recorded_cover(reader, &one, &window, &all_losses, &coverage, error);

	if (r < 0)
		return r;
	segments_put_segment(json, segment, &coverage);
	if (!work)
		return 0;
	json_key(json, "work");
	return segment_outlines_read(reader, &one, segments_put_work, json);
}

/* Puts a segment with its coverage, which includes only that segment. */
static int segments_put_covered(struct buffer *json, struct store_reader *reader,
				struct store_segment *segment, bool work)
{
	struct error error = { 0 };
	int r = segments_put_known(json, reader, segment, work, &error);

	json_close(json, '}');
	buffer_text(json, "\n");
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}

static int segments_print_json(const struct invocation *invocation, struct store_reader *reader,
			       const struct store_segments *segments, const struct window *window,
			       const struct coverage *coverage)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };
	int code = EXIT_DONE;

	for (size_t i = 0; code == EXIT_DONE && i < segments->list.count; i++)
		code = segments_put_covered(&json, reader, &segments->list.items[i],
					    option_given(invocation, "work"));
	if (code != EXIT_DONE)
		return code;
	coverage_put_json(coverage, window, &json);
	if (buffer_failed(&json))
		return fail(-ENOMEM, NULL);
	print_text(stdout, &json, false);
	return EXIT_DONE;
}

static uint64_t samples_of(const struct store_segments *segments)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < segments->list.count; i++)
		if (!*segments->list.items[i].damage)
			samples += segments->list.items[i].samples;
	return samples;
}

static int segments_print(const struct invocation *invocation, struct store_reader *reader,
			  const struct store_segments *segments, const struct window *asked)
{
	static const struct window all = { .to_ns = UINT64_MAX };
	struct window window = asked ? *asked : recorded_window(segments);
	_cleanup_(coverage_done) struct coverage coverage = { 0 };
	struct error error = { 0 };
	bool losses = option_given(invocation, "json") || option_given(invocation, "strict");
	int r = recorded_cover(reader, segments, &window, losses ? &all_losses : NULL, &coverage,
			       &error),
	    code = EXIT_DONE;

	if (r < 0)
		return fail(r, &error);
	r = store_host_find(reader, &window, &coverage.facts, &error);
	if (r < 0)
		return fail(r, &error);
	if (option_given(invocation, "json"))
		code = segments_print_json(invocation, reader, segments, &window, &coverage);
	else if (!asked || segments->list.count)
		code = segments_print_table(invocation, reader, segments, asked ? asked : &all,
					    &coverage);
	if (code == EXIT_DONE && asked && !segments->list.count &&
	    !option_given(invocation, "json"))
		say_window(invocation, asked);
	if (code == EXIT_DONE && asked && !segments->list.count)
		code = coverage_line_nothing(invocation, reader, &window, &coverage);
	else if (code == EXIT_DONE)
		code = coverage_line_code(invocation, &coverage);
	if (code == EXIT_PARTIAL)
		say_coverage(invocation, reader, &window, samples_of(segments), &coverage);
	return code;
}

static int segments_run(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct window window = { .to_ns = UINT64_MAX };
	bool has_window = window_given(invocation);
	struct store_segments segments = { 0 };
	struct error error = { 0 };
	int r = has_window ? window_option_parse(invocation, &window) : EXIT_DONE, code;

	if (r != EXIT_DONE)
		return r;
	r = store_reader_open(store_path(invocation), &reader, &error);
	if (r < 0)
		return fail(r, &error);
	if (has_window && option_given(invocation, "json"))
		say_window(invocation, &window);
	else
		say_window_note(invocation, &window);
	r = store_reader_find(reader, window.from_ns, window.to_ns, &segments, &error);
	code = r < 0 ? fail(r, &error)
		     : segments_print(invocation, reader, &segments, has_window ? &window : NULL);
	array_done(&segments.list);
	return code;
}

const struct command command_segments = {
	.name = "segments",
	.summary = "List the recorded segments",
	.about = about,
	.options = options,
	.run = segments_run,
};
