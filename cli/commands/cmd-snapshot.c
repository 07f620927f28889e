// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/guarded-output.h"
#include "cli/commands/snapshot-context.h"
#include "cli/options/command.h"
#include "cli/window/live-names.h"
#include "cli/answer/progress-line.h"
#include "cli/window/window-options.h"
#include "query/read/loader.h"
#include "query/text/output.h"
#include "query/read/recorded.h"
#include "query/read/window-filter.h"
#include "store/disk/files.h"
#include "tape/slice.h"
#include "tape/segment/segment.h"

static const struct option options[] = {
	WINDOW_OPTIONS,
	{ "output", 'o', "FILE", "the .tape file to write" },
	OUTPUT_FORCE_OPTION,
	{ 0 },
};

static const char about[] =
	"Copies a window of the store into one file, with names, incidents, and what is usual\n"
	"on that host. perftape reads the file on any machine as --store FILE.tape. Without\n"
	"options, its window is the same.\n"
	"\n" WINDOW_ABOUT "\n"
	"Exit code 3: nothing is recorded in the window.\n";

struct snapshot {
	struct loader loader;
	struct output output;
	struct snapshot_context context;
	/* The last tape, which is not written yet. */
	struct tape *last;
	uint64_t segments;
	uint64_t samples;
	uint64_t bytes;
};

/* Appends a segment to the file, where segments follow one another. */
static int put_tape(struct snapshot *snapshot, const struct tape *tape, struct error *error)
{
	struct buffer *text = &snapshot->output.text;
	size_t before = text->size;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	int r = segment_encode(tape, SEGMENT_USUAL, STORE_SEGMENT_MAX, &bytes);

	buffer_bytes(text, bytes.data, bytes.size);
	if (r == 0 && buffer_failed(text))
		r = -ENOMEM;
	if (r < 0)
		return error_set(error, r, "cannot pack a segment: %s", strerror(-r));
	snapshot->loader.coverage.clock_error_ns =
		MAX(snapshot->loader.coverage.clock_error_ns, recorded_clock_error(tape));
	snapshot->bytes += text->size - before;
	snapshot->segments++;
	snapshot->samples += tape->samples.count;
	output_flush(&snapshot->output);
	return window_filter_count_samples(tape, &snapshot->loader.coverage);
}

/* Writes the last tape. Call it after the next tape was read, or when no tape follows. */
static int put_last(struct snapshot *snapshot, bool is_end, struct error *error)
{
	_cleanup_(cleanup_tape) struct tape *last = take_ptr(snapshot->last);
	int r = last ? snapshot_context_add(&snapshot->context, &snapshot->loader, last, is_end,
					    error)
		     : 0;

	return last && r == 0 ? put_tape(snapshot, last, error) : r;
}

static int snapshot_add_segment(struct snapshot *snapshot, const struct store_segment *segment,
				struct error *error)
{
	const struct window *window = &snapshot->loader.question.window;
	_cleanup_(cleanup_tape) struct tape *tape = NULL, *slice = NULL;
	struct loaded loaded;
	int r;

	loader_read(&snapshot->loader, segment, window->from_ns, SEGMENT_ALL, &loaded);
	r = loader_take(&snapshot->loader, segment, &loaded, &tape, error);
	if (r <= 0)
		return r;
	r = tape_slice(tape, window->from_ns, window->to_ns, &slice);
	if (r < 0 || !slice)
		return r;
	r = put_last(snapshot, false, error);
	snapshot->last = take_ptr(slice);
	return r;
}

/*
 * The kernel reports a loss when the ring buffer has space again, which may be in a later tape.
 * Adds losses that overlap the last tape to the last tape.
 */
static int take_later_losses(void *context, const struct tape *later)
{
	struct tape *last = ((struct snapshot *)context)->last;
	int r = 0;

	if (!last || strcmp(tape_fact(last, "boot_id"), tape_fact(later, "boot_id")) != 0)
		return 0;
	for (size_t i = 0; r == 0 && i < later->losses.count; i++)
		if (later->losses.items[i].from_ns < last->end_ns &&
		    later->losses.items[i].to_ns > last->begin_ns)
			r = array_push(&last->losses, later->losses.items[i]);
	return r;
}

static int snapshot_add_all(const struct invocation *invocation, struct snapshot *snapshot,
			    struct error *error)
{
	const struct store_segments *segments = &snapshot->loader.segments;
	struct progress_line progress;
	int r = 0;

	progress_line_start(&progress, "segments", option_given(invocation, "quiet"));
	for (size_t i = 0; r == 0 && i < segments->list.count; i++) {
		r = snapshot_add_segment(snapshot, &segments->list.items[i], error);
		progress_line_show(&progress, i + 1, segments->list.count);
	}
	progress_line_end(&progress);
	if (r < 0)
		return r;
	r = loader_each_tape_after(&snapshot->loader, take_later_losses, snapshot, error);
	if (r < 0)
		return r;
	r = put_last(snapshot, true, error);
	return r < 0 ? r : loader_finish(&snapshot->loader, error);
}

static int write_file(const struct invocation *invocation, struct snapshot *snapshot,
		      struct store_reader *reader)
{
	const char *path = option_value(invocation, "output");
	const struct coverage *coverage = &snapshot->loader.coverage;
	const struct window *window = &snapshot->loader.question.window;
	struct error error = { 0 };
	char size[32];
	int r = snapshot_add_all(invocation, snapshot, &error);

	if (r < 0)
		return fail(r, &error);
	if (!snapshot->segments)
		return coverage_line_nothing(invocation, reader, window, coverage);
	r = output_commit(&snapshot->output, &error);
	if (r < 0)
		return fail(r, &error);
	say_coverage(invocation, reader, window, snapshot->samples, coverage);
	say(invocation, "%s: %llu segment%s, %s", path, (unsigned long long)snapshot->segments,
	    plural(snapshot->segments), size_format(snapshot->bytes, size, sizeof(size)));
	return coverage_line_code(invocation, coverage);
}

static int snapshot_make(const struct invocation *invocation, const struct question *question)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct snapshot snapshot = { .output = OUTPUT_NONE };
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r < 0)
		return fail(r, &error);
	say_window(invocation, &question->window);
	r = loader_open(reader, question, &snapshot.loader, &error);
	if (r < 0)
		return fail(r, &error);
	/* open the output before the work, so that a wrong path fails at once */
	r = guarded_output_open(&snapshot.output, option_value(invocation, "output"),
				option_given(invocation, "force"), &error);
	if (r == 0)
		r = snapshot_context_begin(&snapshot.context, reader, &question->window, &error);
	r = r < 0 ? fail(r, &error) : write_file(invocation, &snapshot, reader);
	output_done(&snapshot.output);
	snapshot_context_done(&snapshot.context);
	tape_free(snapshot.last);
	loader_done(&snapshot.loader);
	return r;
}

static int snapshot_run(const struct invocation *invocation)
{
	static const struct filter all;
	const char *path = option_value(invocation, "output");
	size_t size = path ? strlen(path) : 0;
	struct live_names names = { 0 };
	struct question question = {
		.filter = &all,
		.name = live_names_give,
		.context = &names,
	};
	int r = window_option_parse(invocation, &question.window);

	if (r == EXIT_DONE && !path)
		r = usage_error("snapshot needs a file: -o FILE.tape");
	else if (r == EXIT_DONE && (size < 5 || strcmp(path + size - 5, STORE_SUFFIX) != 0))
		r = usage_error("--output '%s' does not end in %s", path, STORE_SUFFIX);
	if (r == EXIT_DONE)
		r = snapshot_make(invocation, &question);
	live_names_done(&names);
	return r;
}

const struct command command_snapshot = {
	.name = "snapshot",
	.summary = "Copy a window into one .tape file, to hand over",
	.about = about,
	.options = options,
	.run = snapshot_run,
};
