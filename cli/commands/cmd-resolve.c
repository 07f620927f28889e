// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/options/command.h"
#include "cli/window/window-options.h"
#include "naming/labels.h"
#include "naming/namer.h"
#include "store/write/reseal.h"
#include "store/read/store-reader.h"

static const struct option options[] = {
	MOMENT_OPTIONS,
	{ "debug-dir", 0, "DIR",
	  "where debug files are, beside /usr/lib/debug: DIR/.build-id/ab/cdef.debug, or by their paths" },
	{ 0 },
};

static const char about[] =
	"In all segments, or in those that overlap a window: debug files may have come since,\n"
	"or a file system that is not touched while it is recorded can be waited for. What had a\n"
	"name keeps it. Goes beside a recorder; what is not sealed yet is left alone.\n\n" WINDOW_ABOUT;

struct resolving {
	const struct invocation *invocation;
	struct store_reader *reader;
	struct store_resealer *resealer;
	struct namer *namer;
	/* that have more names now */
	uint64_t segments;
	/* names */
	uint64_t gained;
	/* segments that could not be read or written */
	uint64_t failed;
};

static void print_gain(const struct resolving *resolving, const struct store_segment *segment,
		       size_t gained, size_t left)
{
	char begin[TIME_TEXT_SIZE];

	printf("%-29s  %7zu gained  %7zu without  %s\n",
	       time_format(segment->begin_ns, option_given(resolving->invocation, "utc"), 3, begin),
	       gained, left, segment->name);
}

/* A name is never taken away; what only says where a function starts is not one, and comes back
 * where there still is none. */
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
		fprintf(stderr, "perftape: %s\n", error->text);
	if (r < 0)
		return r;
	print_gain(resolving, segment, after - before, tape->frames.count - 1 - after);
	resolving->segments++;
	resolving->gained += after - before;
	return 0;
}

/* One that is damaged, or was removed meanwhile, does not keep us from the others. */
static int resolve_segment(struct resolving *resolving, const struct store_segment *segment)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error error = { 0 };
	int r;

	if (segment->unsealed || segment->vanished)
		return 0;
	r = store_reader_load(resolving->reader, segment, &want, &tape, &error);
	if (r == 0 && !tape->unsealed)
		r = resolve_tape(resolving, segment, tape, &error);
	if (r == 0 || r == -ENOENT)
		return 0;
	resolving->failed++;
	fail(r, &error);
	return r == -ENOMEM || r == -ENOSPC || r == -EROFS ? r : 0;
}

static int resolve_window(struct resolving *resolving, const struct window *window)
{
	struct store_segments segments = { 0 };
	struct error error = { 0 };
	int r = store_reader_find(resolving->reader, window->from_ns, window->to_ns, &segments,
				  &error);

	if (r < 0)
		fail(r, &error);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++)
		r = resolve_segment(resolving, &segments.list.items[i]);
	array_done(&segments.list);
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
	int r = store_reader_open(store_path(invocation), &resolving->reader, &error);

	if (r == 0)
		r = store_resealer_open(store_path(invocation), &resolving->resealer, &error);
	if (r == 0)
		r = namer_new(&finder, NULL, &resolving->namer);
	if (r < 0)
		return fail(r, &error);
	r = resolve_window(resolving, window);
	if (r < 0)
		return EXIT_FAILED;
	say(invocation, "%llu name%s gained in %llu segment%s",
	    (unsigned long long)resolving->gained, resolving->gained == 1 ? "" : "s",
	    (unsigned long long)resolving->segments, resolving->segments == 1 ? "" : "s");
	return resolving->failed ? EXIT_FAILED : EXIT_DONE;
}

static int resolve_run(const struct invocation *invocation)
{
	struct resolving resolving = { .invocation = invocation };
	struct window window = { .from_ns = 0, .to_ns = UINT64_MAX };
	int r = EXIT_DONE;

	if (window_given(invocation))
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
	.summary = "Look again for names of what has none",
	.about = about,
	.options = options,
	.run = resolve_run,
};
