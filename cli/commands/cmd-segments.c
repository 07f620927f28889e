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
#include "store/read/store-reader.h"

static const struct option options[] = {
	WINDOW_OPTIONS,
	JSON_OPTION,
	{ 0 },
};

static const char about[] =
	"Lists all segments, or those that overlap a window. Rows between them show when nothing\n"
	"was recorded, and why.\n"
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

static void add_segment(struct columns *columns, const struct store_segment *segment, bool utc)
{
	char remark[sizeof(segment->damage) + 16];

	add_times(columns, segment->begin_ns, segment->end_ns, utc);
	columns_add(columns, "%llu", (unsigned long long)segment->samples);
	columns_add(columns, "%llu", (unsigned long long)segment->lost);
	columns_add(columns, "%.1f", segment->bytes / 1000.0);
	add_name(columns, segment->name);
	snprintf(remark, sizeof(remark), "unreadable: %s", segment->damage);
	columns_end_row(columns, *segment->damage    ? remark
				 : segment->unsealed ? "not sealed yet"
						     : NULL);
	if (segment->lost)
		columns_style_row(columns, STYLE_ALERT);
}

/*
 * Adds a row for a gap between segments, with the reason. Unreadable segments are not gaps here,
 * because they have rows as segments.
 */
static void add_gap(struct columns *columns, const struct coverage_gap *gap, bool utc)
{
	char remark[sizeof(gap->why) + 2];

	add_times(columns, gap->from_ns, gap->to_ns, utc);
	for (int i = 0; i < 3; i++)
		columns_add(columns, "-");
	columns_add(columns, "%s", "");
	snprintf(remark, sizeof(remark), "(%s)", gap->why);
	columns_end_row(columns, remark);
}

/* Adds the gaps that begin before a moment, from number *at on. */
static void add_gaps(struct columns *columns, const struct coverage *coverage, size_t *at,
		     uint64_t before_ns, bool utc)
{
	for (; *at < coverage->gaps.count && coverage->gaps.items[*at].from_ns < before_ns; ++*at)
		if (!coverage->gaps.items[*at].unread)
			add_gap(columns, &coverage->gaps.items[*at], utc);
}

/* Prints which segments are not in the table any more: removed by retention, or vanished. */
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

static int segments_print_table(const struct invocation *invocation, struct store_reader *reader,
				const struct store_segments *segments, const struct window *window,
				const struct coverage *coverage)
{
	struct columns columns = { .list = segment_columns, .count = ARRAY_SIZE(segment_columns) };
	_cleanup_(buffer_done) struct buffer text = { 0 };
	bool utc = option_given(invocation, "utc");
	struct terminal terminal;
	uint64_t bytes = 0;
	char size[32], host[HOST_NAME_SIZE];
	size_t gap = 0;
	int code;

	for (size_t i = 0; i < segments->list.count; i++) {
		add_gaps(&columns, coverage, &gap, segments->list.items[i].begin_ns, utc);
		add_segment(&columns, &segments->list.items[i], utc);
		bytes += segments->list.items[i].bytes;
	}
	add_gaps(&columns, coverage, &gap, UINT64_MAX, utc);
	screen_read_lines(invocation, &terminal);
	columns_put(&columns, &terminal, &text);
	columns_done(&columns);
	code = screen_print_drawing(&terminal, &text);
	if (code != EXIT_DONE)
		return code;
	say(invocation, "%s%zu segment%s, %s in %s", host_name_prefix(&coverage->facts, host),
	    segments->list.count, plural(segments->list.count),
	    size_format(bytes, size, sizeof(size)), store_path(invocation));
	say_gone(invocation, reader, window);
	return EXIT_DONE;
}

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
	json_close(json, '}');
	buffer_text(json, "\n");
}

/* Each segment's coverage includes only that segment. */
static int put_covered(struct buffer *json, struct store_reader *reader,
		       struct store_segment *segment)
{
	const struct store_segments one = { .list = { segment, 1, 1 } };
	const struct window window = { .from_ns = segment->begin_ns, .to_ns = segment->end_ns };
	struct coverage coverage = { 0 };
	struct error error = { 0 };
	int r = recorded_cover(reader, &one, &window, &all_losses, &coverage, &error);

	if (r == 0)
		segments_put_segment(json, segment, &coverage);
	array_done(&coverage.gaps);
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}

static int segments_print_json(struct store_reader *reader, const struct store_segments *segments,
			       const struct window *window, const struct coverage *coverage)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };
	int code = EXIT_DONE;

	for (size_t i = 0; code == EXIT_DONE && i < segments->list.count; i++)
		code = put_covered(&json, reader, &segments->list.items[i]);
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
	struct coverage coverage = { 0 };
	struct error error = { 0 };
	bool losses = option_given(invocation, "json") || option_given(invocation, "strict");
	int r = recorded_cover(reader, segments, &window, losses ? &all_losses : NULL, &coverage,
			       &error),
	    code = EXIT_DONE;

	if (r == 0)
		r = host_name_find(reader, &window, &coverage.facts, &error);
	if (r < 0) {
		array_done(&coverage.gaps);
		return fail(r, &error);
	}
	if (option_given(invocation, "json"))
		code = segments_print_json(reader, segments, &window, &coverage);
	else if (!asked || segments->list.count)
		code = segments_print_table(invocation, reader, segments, asked ? asked : &all,
					    &coverage);
	if (code == EXIT_DONE && asked && !segments->list.count)
		code = coverage_line_nothing(invocation, reader, &window, &coverage);
	else if (code == EXIT_DONE)
		code = coverage_line_code(invocation, &coverage);
	if (code == EXIT_PARTIAL)
		say_coverage(invocation, reader, &window, samples_of(segments), &coverage);
	array_done(&coverage.gaps);
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
	if (has_window)
		say_window(invocation, &window);
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
