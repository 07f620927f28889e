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

int query_args_parse(const struct invocation *invocation, struct query_args *asked)
{
	int r = window_option_parse(invocation, &asked->question.window);

	asked->question.filter = &asked->filter;
	asked->question.name = live_names_give;
	asked->question.context = &asked->names;
	return r == EXIT_DONE ? filter_options_parse(invocation, &asked->filter) : r;
}

void query_args_done(struct query_args *asked)
{
	live_names_done(&asked->names);
	filter_done(&asked->filter);
}

/* Of what is taken at a time; all that an answer takes is some such pieces. */
#define HEAP_STEP (64 << 20)

/*
 * Each segment takes the same room as the one before. Without this every large piece of it would go
 * back to the kernel in between, and be cleared page by page for the next one; so for the threads,
 * which would each have a heap of their own. And pages come in large ones where the kernel has
 * them: of a window's text, getting them one by one took a sixth of the time.
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
	first = malloc(4 << 20); /* more than there is, so that a first step is taken */
	begin = ((uintptr_t)first + large - 1) / large * large;
	end = (uintptr_t)sbrk(0) / large * large;
	if (first && begin < end)
		madvise((void *)begin, end - begin, MADV_HUGEPAGE);
	free(first);
}

int query_args_fold(const struct invocation *invocation, const struct query_args *asked,
		    struct store_reader *reader, struct fold_options options, struct fold *ret_fold)
{
	const struct window *window = &asked->question.window;
	struct progress_line progress;
	struct error error = { 0 };
	int r;

	options.question = asked->question;
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
		say(invocation, "segments opened: %llu, %llu of them without their samples",
		    (unsigned long long)ret_fold->segments, (unsigned long long)ret_fold->summed);
	return EXIT_DONE;
}
