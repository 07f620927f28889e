// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "cli/answer/host-name.h"
#include "cli/answer/screen.h"
#include "cli/options/command.h"
#include "cli/window/window-options.h"
#include "draw/columns.h"
#include "naming/labels.h"
#include "naming/namer.h"
#include "query/read/store-host.h"
#include "store/write/reseal.h"
#include "store/read/store-reader.h"

static const struct option options[] = {
	MOMENT_OPTIONS,
	{ "debug-dir", 0, "DIR",
	  "another folder of debug files, as DIR/.build-id/ab/cdef.debug or by path" },
	{ 0 },
};

static const char about[] =
	"Looks up missing names again, in all segments or in those of a window: debug files may\n"
	"have come since, and network file systems are read here but not while recording. Frames\n"
	"keep the names that they have. Works beside a recorder, on sealed segments only.\n"
	"\n" WINDOW_ABOUT;

#define NAME_MIN 16

static const struct columns_column gain_columns[] = {
	{ "", .yield = COLUMNS_SHORTENS, .turn = 1 },
	{ "", .right = true },
	{ "", .right = true, .yield = COLUMNS_LEAVES, .turn = 3 },
	{ "", .yield = COLUMNS_SHRINKS, .turn = 2, .least = NAME_MIN },
};

struct resolving {
	const struct invocation *invocation;
	struct store_reader *reader;
	struct store_resealer *resealer;
	struct namer *namer;
	struct columns columns;
	/* Number of segments that got new names. */
	uint64_t segments;
	/* Number of new names. */
	uint64_t gained;
	/*
	 * Number of segments that could not be read or written, and why: the reason of the one that
	 * ended everything, or of the first one.
	 */
	uint64_t failed;
	struct error reason;
	struct recorded_facts facts;
};

static void add_gain(struct resolving *resolving, const struct store_segment *segment,
		     size_t gained, size_t left)
{
	char begin[TIME_TEXT_SIZE], brief[TIME_TEXT_SIZE];

	time_format(segment->begin_ns, option_given(resolving->invocation, "utc"), 3, begin);
	columns_add_brief(&resolving->columns, begin, screen_short_time(begin, true, brief));
	columns_add(&resolving->columns, "%zu gained", gained);
	columns_add(&resolving->columns, "%zu without", left);
	columns_add(&resolving->columns, "%s", segment->name);
	columns_end_row(&resolving->columns, NULL);
}

static int print_gains(struct resolving *resolving)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct terminal terminal;

	screen_read_lines(NULL, &terminal);
	columns_put(&resolving->columns, &terminal, &text);
	columns_done(&resolving->columns);
	return screen_print(&text);
}

/*
 * Searches again for the names of a tape. Keeps all existing names. Labels such as
 * "[program]+0x1000" are not names: removes them first, and the namer restores them where it does
 * not find a name.
 */
static int resolve_tape(struct resolving *resolving, const struct store_segment *segment,
			struct tape *tape, struct error *error)
{
	size_t before = labels_count_named(tape), after;
	int r;

	labels_remove(tape);
	r = namer_run(resolving->namer, tape);
	if (r < 0)
		return error_set(error, r, "out of memory");
	after = labels_count_named(tape);
	if (after == before)
		return 0;
	r = store_resealer_put(resolving->resealer, segment, tape, error);
	if (r == 1)
		warn("%s", error->text);
	if (r < 0)
		return r;
	add_gain(resolving, segment, after - before, tape->frames.count - 1 - after);
	resolving->segments++;
	resolving->gained += after - before;
	return 0;
}

/*
 * Resolves a segment. Counts a segment that is damaged, ignores a segment that was removed
 * meanwhile, and goes on with the other segments in both cases.
 */
static int resolve_segment(struct resolving *resolving, const struct store_segment *segment)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error error = { 0 };
	bool is_end;
	int r;

	if (segment->unsealed || segment->vanished)
		return 0;
	r = store_reader_load(resolving->reader, segment, &want, &tape, &error);
	if (r == 0 && !tape->unsealed)
		r = resolve_tape(resolving, segment, tape, &error);
	if (r == 0 || r == -ENOENT)
		return 0;
	is_end = r == -ENOMEM || r == -ENOSPC || r == -EROFS;
	if (!error.text[0])
		error_set(&error, r, "%s: %s", segment->name, strerror(-r));
	if (resolving->failed++ == 0 || is_end)
		resolving->reason = error;
	return is_end ? r : 0;
}

/* A store may have thousands of damaged segments, so one line reports all of them. */
static void report_failed(const struct resolving *resolving)
{
	const char *reason = resolving->reason.text;
	unsigned long long others = resolving->failed - 1;

	if (!resolving->failed)
		return;
	if (others)
		warn("%s; %llu other segment%s failed, too; perftape verify names damaged ones",
		     reason, others, plural(others));
	else
		warn("%s", reason);
}

static int resolve_window(struct resolving *resolving, const struct window *window)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	struct error error = { 0 };
	int r = store_reader_find(resolving->reader, window->from_ns, window->to_ns, &segments,
				  &error);

	if (r == 0)
		r = store_host_find(resolving->reader, window, &resolving->facts, &error);
	if (r < 0)
		fail(r, &error);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++)
		r = resolve_segment(resolving, &segments.list.items[i]);
	return r;
}

static int resolve(struct resolving *resolving, const struct window *window)
{
	const struct invocation *invocation = resolving->invocation;
	const struct finder finder = {
		.remote = true,
		.debug_dir = option_value(invocation, "debug-dir"),
	};
	struct error error = { 0 };
	char host[HOST_NAME_SIZE];
	int r = store_reader_open(store_path(invocation), &resolving->reader, &error), code;

	if (r < 0)
		return fail(r, &error);
	r = store_resealer_open(store_path(invocation), &resolving->resealer, &error);
	if (r < 0)
		return fail(r, &error);
	r = namer_new(&finder, NULL, &resolving->namer);
	if (r < 0)
		return fail(r, &error);
	r = resolve_window(resolving, window);
	code = print_gains(resolving);
	report_failed(resolving);
	if (r < 0)
		return EXIT_FAILED;
	if (code != EXIT_DONE)
		return code;
	if (resolving->failed && !resolving->gained)
		return EXIT_FAILED;
	say(invocation, "%s%llu name%s gained in %llu segment%s",
	    host_name_prefix(&resolving->facts, host), (unsigned long long)resolving->gained,
	    plural(resolving->gained), (unsigned long long)resolving->segments,
	    plural(resolving->segments));
	return resolving->failed ? EXIT_FAILED : EXIT_DONE;
}

/*
 * Refuses a folder that cannot be read, because it would look like a folder without the right
 * files.
 */
static int check_debug_dir(const char *path)
{
	_cleanup_close_ int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (!path || fd >= 0)
		return EXIT_DONE;
	warn("--debug-dir %s: %s; give the folder that has the debug files", path, strerror(errno));
	return EXIT_FAILED;
}

static int resolve_run(const struct invocation *invocation)
{
	struct resolving resolving = {
		.invocation = invocation,
		.columns = { .list = gain_columns, .count = ARRAY_SIZE(gain_columns) },
	};
	struct window window = { .from_ns = 0, .to_ns = UINT64_MAX };
	int r = check_debug_dir(option_value(invocation, "debug-dir"));

	if (r == EXIT_DONE && window_given(invocation))
		r = window_option_parse(invocation, &window);
	if (r == EXIT_DONE)
		r = resolve(&resolving, &window);
	namer_free(resolving.namer);
	store_resealer_close(resolving.resealer);
	store_reader_close(resolving.reader);
	return r;
}

const struct command command_resolve = {
	.name = "resolve",
	.summary = "Look up missing names again",
	.about = about,
	.options = options,
	.writes = true,
	.run = resolve_run,
};
