// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/answer/host-name.h"
#include "cli/answer/limit-change.h"
#include "cli/answer/screen.h"
#include "cli/options/command.h"
#include "cli/options/limit-options.h"
#include "draw/columns.h"
#include "query/read/store-host.h"
#include "store/read/store-reader.h"
#include "store/write/store-writer.h"

static const struct option options[] = {
	{ "dry-run", 'n', NULL, "only show what would be removed" },
	LIMIT_OPTIONS,
	FORCE_OPTION,
	{ 0 },
};

static const char about[] =
	"Removes the oldest segments beyond the limits. The limits are those of the last\n"
	"recording, unless options give others. A recorder that runs does this itself.\n"
	"\n"
	"Exit code 2: other limits would remove over half of it; --force allows that.\n";

#define NAME_MIN 16

static const struct columns_column removal_columns[] = {
	{ "", .yield = COLUMNS_SHORTENS, .turn = 1 },
	{ "", .right = true, .yield = COLUMNS_LEAVES, .turn = 3 },
	{ "", .yield = COLUMNS_SHRINKS, .turn = 2, .least = NAME_MIN },
};

struct removals {
	const struct invocation *invocation;
	struct columns columns;
};

static void add_removal(void *context, const struct store_segment *segment, const char *why)
{
	struct removals *removals = context;
	char begin[TIME_TEXT_SIZE], brief[TIME_TEXT_SIZE];

	time_format(segment->begin_ns, option_given(removals->invocation, "utc"), 3, begin);
	columns_add_brief(&removals->columns, begin, screen_short_time(begin, true, brief));
	columns_add(&removals->columns, "%.1f kB", segment->bytes / 1000.0);
	columns_add(&removals->columns, "%s", segment->name);
	columns_end_row(&removals->columns, why);
}

static int print_removals(struct removals *removals)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct terminal terminal;

	screen_read_lines(NULL, &terminal);
	columns_put(&removals->columns, &terminal, &text);
	columns_done(&removals->columns);
	return screen_print(&text);
}

/*
 * Warns if the store stays above its limit. Retention always keeps the last segment, the spool, the
 * notes and the index.
 */
static void warn_size(const struct store_limits *limits, const struct store_retained *retained)
{
	char size[32], limit[32];

	if (retained->bytes > limits->max_bytes)
		warn("--max-size %s: the last segment and the index take %s",
		     size_format(limits->max_bytes, limit, sizeof(limit)),
		     size_format(retained->bytes, size, sizeof(size)));
}

static void vacuum_print_summary(const struct invocation *invocation,
				 const struct recorded_facts *facts,
				 const struct store_retained *retained)
{
	char removed[32], left[32], host[HOST_NAME_SIZE];

	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], range[2 * TIME_TEXT_SIZE + 8] = "";
	bool utc = option_given(invocation, "utc");

	/* a removal of data is never silent, so -q omits only an empty report */
	if (!retained->removed && option_given(invocation, "quiet"))
		return;
	if (retained->to_ns)
		snprintf(range, sizeof(range), ", %s to %s",
			 time_format(retained->from_ns, utc, 0, from),
			 time_format(retained->to_ns, utc, 0, to));
	warn("%s%s %llu segment%s, %s%s; %llu left; %s with its index %s %s",
	     host_name_prefix(facts, host),
	     option_given(invocation, "dry-run") ? "would remove" : "removed",
	     (unsigned long long)retained->removed, plural(retained->removed),
	     size_format(retained->removed_bytes, removed, sizeof(removed)), range,
	     (unsigned long long)retained->segments, store_path(invocation),
	     option_given(invocation, "dry-run") ? "would take" : "takes",
	     size_format(retained->bytes, left, sizeof(left)));
	if (retained->spared)
		say(invocation, "%llu of them stay, because the wall clock jumped; use --max-age",
		    (unsigned long long)retained->spared);
	if (retained->pinned)
		say(invocation, "%llu of them stay beyond their age, because of an incident",
		    (unsigned long long)retained->pinned);
}

static int read_limits(const struct invocation *invocation, struct store_limits *limits,
		       struct recorded_facts *facts)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r < 0)
		return fail(r, &error);
	r = store_reader_limits(reader, limits, &error);
	/* before segments go */
	if (r == 0)
		r = store_host_find_all(reader, facts, &error);
	if (r < 0)
		return fail(r, &error);
	r = limit_options_parse(invocation, limits);
	if (r != EXIT_DONE)
		return r;
	limits->age_by_clock = option_given(invocation, "max-age");
	limits->space_at_once = true;
	limits_describe(limits, &text);
	say(invocation, "limits: %s", buffer_shown(&text));
	return EXIT_DONE;
}

/* Refuses limits that look like a typing error, except in a dry run or with --force. */
static int check_change(const struct invocation *invocation, struct store_writer *writer,
			const struct store_limits *limits)
{
	struct store_limits noted;
	struct error error = { 0 };
	int r = 0;

	if (!option_given(invocation, "force"))
		r = limit_change_is_drastic(invocation, writer, limits, &noted, &error);
	if (r < 0)
		return fail(r, &error);
	if (r == 0)
		return EXIT_DONE;
	if (option_given(invocation, "dry-run")) {
		say(invocation, "without --dry-run, this takes --force");
		return EXIT_DONE;
	}
	return usage_error("%s; give --force if you want that", error.text);
}

static int vacuum_run(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct store_retained retained = { 0 };
	struct store_limits limits = { 0 };
	struct recorded_facts facts = { 0 };
	bool dry = option_given(invocation, "dry-run");
	struct removals removals = {
		invocation,
		{ .list = removal_columns, .count = ARRAY_SIZE(removal_columns) },
	};
	struct error error = { 0 };
	int code;
	/* report wrong options before opening the store */
	int r = limit_options_parse(invocation, &limits);

	if (r == EXIT_DONE)
		r = read_limits(invocation, &limits, &facts);
	if (r != EXIT_DONE)
		return r;
	r = dry ? store_writer_open_dry(store_path(invocation), &writer, &error)
		: store_writer_open(store_path(invocation), &writer, &error);
	if (r == -EBUSY)
		error_set(&error, r, "%s: a recorder runs and applies the limits; use --dry-run",
			  store_path(invocation));
	if (r < 0)
		return fail(r, &error);
	code = check_change(invocation, writer, &limits);
	if (code != EXIT_DONE)
		return code;
	r = store_writer_retain(writer, &limits, dry, add_removal, &removals, &retained, &error);
	code = print_removals(&removals);
	if (r < 0)
		return fail(r, &error);
	if (code != EXIT_DONE)
		return code;
	vacuum_print_summary(invocation, &facts, &retained);
	warn_size(&limits, &retained);
	if (store_space_describe(&limits, &retained, &error))
		warn("%s", error.text);
	return EXIT_DONE;
}

const struct command command_vacuum = {
	.name = "vacuum",
	.summary = "Remove segments beyond the limits",
	.about = about,
	.options = options,
	.writes = true,
	.run = vacuum_run,
};
