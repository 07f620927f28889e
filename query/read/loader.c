// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/loader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "query/coverage/gap-causes.h"
#include "query/read/store-host.h"

int loader_open(struct store_reader *reader, const struct question *question,
		struct loader *ret_loader, struct error *error)
{
	struct loader loader = { .reader = reader, .question = *question };
	int r = store_reader_find(reader, question->window.from_ns, question->window.to_ns,
				  &loader.segments, error);

	if (r < 0) {
		array_done(&loader.segments.list);
		return r;
	}
	*ret_loader = loader;
	return 0;
}

void loader_done(struct loader *loader)
{
	array_done(&loader->segments.list);
	array_done(&loader->coverage.gaps);
	coverage_parts_done(&loader->parts);
}

void loader_read(const struct loader *loader, const struct store_segment *segment, uint64_t from_ns,
		 unsigned int parts, struct loaded *ret_loaded)
{
	const struct segment_want want = { from_ns, loader->question.window.to_ns, parts,
					   loader->threads };

	*ret_loaded = (struct loaded){ 0 };
	ret_loaded->failed = store_reader_load(loader->reader, segment, &want, &ret_loaded->tape,
					       &ret_loaded->error);
}

int loader_add_removed(struct store_reader *reader, const struct window *window,
		       struct coverage_parts *parts, struct error *error)
{
	_cleanup_(store_removed_ranges_done) struct store_removed_ranges ranges = { 0 };
	int r = store_reader_removed(reader, window->from_ns, window->to_ns, &ranges, error);

	for (size_t i = 0; r == 0 && i < ranges.list.count; i++) {
		const struct store_removed_range *one = &ranges.list.items[i];

		r = one->vanished ? coverage_add_vanished(parts, one->from_ns, one->to_ns)
				  : coverage_add_removed(parts, one->from_ns, one->to_ns);
	}
	return r;
}

/*
 * Handles a file that disappeared after the loader read the index. The store has a record of each
 * removal by retention. Without such a record, another program removed the file.
 */
static int take_vanished(struct loader *loader, const struct store_segment *segment,
			 struct error *error)
{
	_cleanup_(store_removed_ranges_done) struct store_removed_ranges ranges = { 0 };
	char why[128];
	int r = store_reader_removed(loader->reader, segment->begin_ns, segment->end_ns, &ranges,
				     error);
	bool removed = false;

	for (size_t i = 0; r == 0 && i < ranges.list.count; i++)
		removed |= !ranges.list.items[i].vanished &&
			   ranges.list.items[i].from_ns <= segment->begin_ns &&
			   ranges.list.items[i].to_ns >= segment->end_ns;
	if (r < 0 || removed)
		return r;
	loader->coverage.damaged++;
	snprintf(why, sizeof(why), "%s: its file vanished", segment->name);
	return coverage_add_unread(&loader->parts, segment->begin_ns, segment->end_ns, why);
}

static int take_unread(struct loader *loader, const struct store_segment *segment,
		       struct loaded *loaded, struct error *error)
{
	if (error_is_exhaustion(loaded->failed)) {
		if (error)
			*error = loaded->error;
		return loaded->failed;
	}
	if (loaded->failed == -ENOENT)
		return take_vanished(loader, segment, error);
	loader->coverage.damaged++;
	return coverage_add_unread(&loader->parts, segment->begin_ns, segment->end_ns,
				   loaded->error.text);
}

int loader_take(struct loader *loader, const struct store_segment *segment, struct loaded *loaded,
		struct tape **ret_tape, struct error *error)
{
	const struct question *question = &loader->question;
	_cleanup_(cleanup_tape) struct tape *tape = take_ptr(loaded->tape);
	int r = 0;

	if (!tape)
		return take_unread(loader, segment, loaded, error);
	if (tape->unsealed && question->name)
		r = question->name(question->context, tape);
	if (r < 0)
		return r;
	r = coverage_add_tape(&loader->coverage, &loader->parts, &question->window,
			      &question->filter->cpus, tape);
	if (r < 0)
		return r;
	*ret_tape = take_ptr(tape);
	return 1;
}

/*
 * The kernel reports lost samples in the next record that fits into the ring buffer. By then
 * another segment may have begun, so the segment after the window is read too if it has losses.
 */
int loader_each_tape_after(struct loader *loader,
			   int (*see)(void *context, const struct tape *tape), void *context,
			   struct error *error)
{
	const struct segment_want want = { 0, UINT64_MAX, SEGMENT_LOSSES, 1 };
	const struct window *window = &loader->question.window;
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	uint64_t before_ns, after_ns;
	int r = store_reader_near(loader->reader, window->to_ns, window->to_ns, &before_ns,
				  &after_ns, error);

	if (r < 0)
		return r;
	if (after_ns)
		r = store_reader_find(loader->reader, after_ns, after_ns + 1, &segments, error);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		const struct store_segment *segment = &segments.list.items[i];
		_cleanup_(cleanup_tape) struct tape *tape = NULL;

		if (!segment->lost || segment->begin_ns < window->to_ns)
			continue;
		r = store_reader_load(loader->reader, segment, &want, &tape, error);
		if (r == 0)
			r = see(context, tape);
		else if (!error_is_exhaustion(r))
			r = 0; /* an unreadable segment outside of the window does not matter */
	}
	return r;
}

/*
 * Ignores the spool of an earlier recorder that is still being sealed: this spool does not show how
 * far the running recorder has written.
 */
int loader_add_unwritten(const struct store_reader *reader, const struct store_segments *segments,
			 const struct window *window, struct coverage_parts *parts)
{
	uint64_t reached_ns = 0, since_ns;

	for (size_t i = 0; i < segments->list.count; i++)
		if (segments->list.items[i].unsealed)
			reached_ns = MAX(reached_ns, segments->list.items[i].end_ns);
	if (!reached_ns || reached_ns >= window->to_ns)
		return 0;
	if (!store_reader_recorder(reader, &since_ns) || !since_ns)
		return 0;
	return coverage_add_unwritten(parts, MAX(reached_ns, since_ns), window->to_ns);
}

int loader_add_unsaved(const struct store_reader *reader, const struct window *window,
		       struct coverage *coverage, struct coverage_parts *parts)
{
	struct store_unsaved left;
	struct coverage_span span;

	if (!store_reader_unsaved(reader, window->from_ns, window->to_ns, &left))
		return 0;
	span = (struct coverage_span){
		.perf_begin_ns = left.perf_from_ns,
		.perf_end_ns = left.perf_to_ns,
		.begin_ns = left.from_ns,
		.end_ns = left.to_ns,
	};
	memcpy(span.boot_id, left.boot_id, sizeof(span.boot_id));
	return coverage_add_unsaved(coverage, parts, window, &span, left.samples);
}

static int add_later_losses(void *context, const struct tape *tape)
{
	struct loader *loader = context;

	return coverage_add_losses(&loader->coverage, &loader->parts, &loader->question.window,
				   &loader->question.filter->cpus, tape);
}

int loader_finish(struct loader *loader, struct error *error)
{
	int r = loader_each_tape_after(loader, add_later_losses, loader, error);

	if (r < 0)
		return r;
	r = loader_add_removed(loader->reader, &loader->question.window, &loader->parts, error);
	if (r < 0)
		return r;
	r = loader_add_unwritten(loader->reader, &loader->segments, &loader->question.window,
				 &loader->parts);
	if (r < 0)
		return r;
	r = loader_add_unsaved(loader->reader, &loader->question.window, &loader->coverage,
			       &loader->parts);
	if (r < 0)
		return r;
	r = coverage_finish(&loader->coverage, &loader->parts, &loader->question.window);
	if (r < 0)
		return r;
	r = gap_causes_explain(loader->reader, &loader->segments, &loader->question.window,
			       &loader->coverage, error);
	if (r < 0)
		return r;
	/* an answer without a sample also says whose it is */
	if (!loader->coverage.covered_ns && !*loader->coverage.facts.host)
		return store_host_find_all(loader->reader, &loader->coverage.facts, error);
	return 0;
}
