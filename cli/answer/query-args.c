// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/query-args.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/answer/coverage-line.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/screen.h"
#include "cli/window/window-options.h"

int query_args_parse_filter(const struct invocation *invocation, struct query_args *args)
{
	args->question.filter = &args->filter;
	args->question.name = live_names_give;
	args->question.context = &args->names;
	return filter_options_parse(invocation, &args->filter);
}

int query_args_parse(const struct invocation *invocation, struct query_args *args)
{
	int r = window_option_parse(invocation, &args->question.window);

	return r == EXIT_DONE ? query_args_parse_filter(invocation, args) : r;
}

void query_args_done(struct query_args *args)
{
	live_names_done(&args->names);
	filter_done(&args->filter);
}

/* The heap grows in steps of this size. An answer needs a few steps. */
#define HEAP_STEP (64 << 20)

/*
 * Keeps freed memory in the heap. Each segment needs as much memory as the segment before, and the
 * kernel would clear each page again. All threads share one heap for the same reason. Large pages
 * save a sixth of the time of a large answer.
 */
void query_args_keep_memory(void)
{
	const uintptr_t large = 2 << 20;
	uintptr_t begin, end;
	void *first;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	mallopt(M_TOP_PAD, HEAP_STEP);
	/* allocate more than the heap has free, so that the heap grows by one step */
	first = malloc(4 << 20);
	begin = ((uintptr_t)first + large - 1) / large * large;
	end = (uintptr_t)sbrk(0) / large * large;
	if (first && begin < end)
		madvise((void *)begin, end - begin, MADV_HUGEPAGE);
	free(first);
}

int query_args_fold(const struct invocation *invocation, const struct query_args *args,
		    struct store_reader *reader, struct fold_options options, struct fold *ret_fold)
{
	const struct window *window = &args->question.window;
	struct progress_line progress;
	struct error error = { 0 };
	int r;

	options.question = args->question;
	options.threads = screen_threads();
	options.progress = progress_line_show;
	options.progress_context = &progress;
	query_args_keep_memory();
	progress_line_start(&progress, "segments", option_given(invocation, "quiet"));
	r = fold_run(reader, &options, ret_fold, &error);
	progress_line_end(&progress);
	if (r < 0)
		return fail(r, &error);
	if (!ret_fold->samples)
		return coverage_line_nothing(invocation, reader, window, &ret_fold->coverage);
	say_coverage(invocation, reader, window, ret_fold->samples, &ret_fold->coverage);
	if (option_given(invocation, "verbose"))
		say(invocation, "segments opened: %llu, for %llu of them only the sums",
		    (unsigned long long)ret_fold->segments, (unsigned long long)ret_fold->summed);
	return EXIT_DONE;
}
