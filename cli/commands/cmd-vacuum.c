// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/size.h"
#include "cli/options/command.h"
#include "cli/options/limit-options.h"
#include "store/read/store-reader.h"
#include "store/write/store-writer.h"

static const struct option options[] = {
	{ "dry-run", 'n', NULL, "only say what would be removed" },
	LIMIT_OPTIONS,
	{ 0 },
};

static const char about[] =
	"Removes what is beyond the limits, the oldest first: those of the last recording,\n"
	"unless others are given. While a recorder runs, it does so itself.\n";

static void print_removal(void *context, const struct store_segment *segment, const char *why)
{
	const struct invocation *invocation = context;
	char begin[TIME_TEXT_SIZE];

	printf("%-29s  %9.1f kB  %s  %s\n",
	       time_format(segment->begin_ns, option_given(invocation, "utc"), 3, begin),
	       segment->bytes / 1000.0, segment->name, why);
}

/* The segment that is kept in any case, the spool, the notes and the index alone may take more. */
static void warn_size(const struct store_limits *limits, const struct store_retained *retained)
{
	char size[32], limit[32];

	if (retained->bytes > limits->max_bytes)
		fprintf(stderr,
			"perftape: --max-size %s is less than the %s that the last segment and the index take\n",
			size_format(limits->max_bytes, limit, sizeof(limit)),
			size_format(retained->bytes, size, sizeof(size)));
}

static void vacuum_tell(const struct invocation *invocation, const struct store_retained *retained)
{
	char removed[32], left[32];

	say(invocation, "%s %llu segment%s, %s; %llu left, %s in %s",
	    option_given(invocation, "dry-run") ? "would remove" : "removed",
	    (unsigned long long)retained->removed, retained->removed == 1 ? "" : "s",
	    size_format(retained->removed_bytes, removed, sizeof(removed)),
	    (unsigned long long)retained->segments,
	    size_format(retained->bytes, left, sizeof(left)), store_path(invocation));
	if (retained->spared)
		say(invocation,
		    "%llu of them are too old by the wall clock alone, which went ahead at once; give --max-age to have it believed",
		    (unsigned long long)retained->spared);
	if (retained->pinned)
		say(invocation, "%llu of them stay beyond their age, for an incident",
		    (unsigned long long)retained->pinned);
}

static int read_limits(const struct invocation *invocation, struct store_limits *limits)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r == 0)
		r = store_reader_limits(reader, limits, &error);
	if (r < 0)
		return fail(r, &error);
	r = limit_options_parse(invocation, limits);
	if (r != EXIT_DONE)
		return r;
	limits->age_by_clock = option_given(invocation, "max-age");
	limits->space_at_once = true;
	limits_describe(limits, &text);
	say(invocation, "limits: %.*s", (int)text.size, text.data ? (char *)text.data : "");
	return EXIT_DONE;
}

static int vacuum_run(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct store_retained retained = { 0 };
	struct store_limits limits = { 0 };
	bool dry = option_given(invocation, "dry-run");
	struct error error = { 0 };
	/* what is wrong with the options is told before the store is looked at */
	int r = limit_options_parse(invocation, &limits);

	if (r == EXIT_DONE)
		r = read_limits(invocation, &limits);
	if (r != EXIT_DONE)
		return r;
	r = dry ? store_writer_open_dry(store_path(invocation), &writer, &error)
		: store_writer_open(store_path(invocation), &writer, &error);
	if (r == -EBUSY)
		error_set(
			&error, r,
			"%s is being recorded into, and its recorder applies the limits itself; --dry-run shows what it would remove",
			store_path(invocation));
	if (r == 0)
		r = store_writer_retain(writer, &limits, dry, print_removal, (void *)invocation,
					&retained, &error);
	if (r < 0)
		return fail(r, &error);
	vacuum_tell(invocation, &retained);
	warn_size(&limits, &retained);
	if (store_space_describe(&limits, &retained, &error))
		fprintf(stderr, "perftape: %s\n", error.text);
	return EXIT_DONE;
}

const struct command command_vacuum = {
	.name = "vacuum",
	.summary = "Remove what is beyond the limits",
	.about = about,
	.options = options,
	.run = vacuum_run,
};
