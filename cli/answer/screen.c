// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/screen.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/answer/coverage-line.h"

/* More do not read faster than memory is cleared for them. */
#define THREADS_MAX 16

int screen_read(const struct invocation *invocation, struct terminal *ret_terminal)
{
	const char *value = option_value(invocation, "color");
	enum terminal_color color;

	if (terminal_parse_color(value, &color) < 0)
		return usage_error("--color is auto, always or never, not '%s'", value);
	terminal_read(ret_terminal, STDOUT_FILENO, color);
	return EXIT_DONE;
}

unsigned int screen_width(const struct terminal *terminal)
{
	const char *columns = getenv("COLUMNS");

	return isatty(STDOUT_FILENO) || (columns && *columns) ? terminal->width : 0;
}

/* "perftape: gap: FROM to TO: ", before the reason; what is said of a process that records is
 * as long. */
#define GAP_WIDTH 79

unsigned int screen_lines_below(const struct invocation *invocation,
				const struct terminal *terminal, const struct coverage *coverage)
{
	unsigned int lines = 0;

	if (option_given(invocation, "quiet") || !isatty(STDERR_FILENO))
		return 0;
	for (size_t i = 0; i < coverage->gaps.count && lines < UINT16_MAX; i++) {
		const struct coverage_gap *gap = &coverage->gaps.items[i];

		lines += 1 + (GAP_WIDTH + strlen(gap->why)) / terminal->width;
		if (gap->cause && strcmp(gap->cause, "unwritten") == 0)
			lines += 1 + GAP_WIDTH / terminal->width;
	}
	return lines;
}

unsigned int screen_threads(void)
{
	cpu_set_t ours;
	long cpus = sched_getaffinity(0, sizeof(ours), &ours) == 0 ? CPU_COUNT(&ours)
								   : sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : MIN(cpus, THREADS_MAX);
}

void screen_put_head(const struct invocation *invocation, const struct window *window,
		     uint64_t samples, const struct coverage *coverage, struct buffer *text)
{
	buffer_text(text, "window ");
	window_describe(window, option_given(invocation, "utc"), text);
	if (window->note[0])
		buffer_printf(text, "\nnote: %s", window->note);
	buffer_printf(text, "\n%" PRIu64 " sample%s; ", samples, samples == 1 ? "" : "s");
	coverage_describe(coverage, text);
	buffer_u8(text, '\n');
}

/* Is there anything to be said of threads and frames? */
static bool is_more(const struct filter *filter)
{
	return filter_has_threads(filter) || filter->no_idle || filter->frames != FILTER_FRAMES_ALL;
}

void screen_put_filter(const struct filter *filter, struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer cpus = { 0 };
	bool by_cpu = filter->cpus.wanted.count;
	size_t start = text->size;

	if (by_cpu || filter_has_threads(filter))
		buffer_text(text, "only ");
	if (by_cpu) {
		cpu_filter_describe(&filter->cpus, &cpus);
		buffer_u8(&cpus, 0);
		if (!buffer_failed(&cpus))
			buffer_printf(text, "CPU%s %s",
				      strpbrk((const char *)cpus.data, ",-") ? "s" : "",
				      (const char *)cpus.data);
		buffer_text(text, is_more(filter) ? ", " : "");
	}
	filter_describe_threads(filter, text);
	if (text->size > start)
		buffer_u8(text, '\n');
}

int screen_nothing(const struct invocation *invocation, struct store_reader *reader,
		   const struct window *window, const struct coverage *coverage)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };
	int code = EXIT_DONE;

	if (option_given(invocation, "json")) {
		coverage_put_json(coverage, window, &json);
		code = screen_print(&json);
	}
	return code == EXIT_DONE ? coverage_line_nothing(invocation, reader, window, coverage)
				 : code;
}

int screen_print(const struct buffer *text)
{
	struct error error;
	int r;

	if (buffer_failed(text))
		return fail(-ENOMEM, NULL);
	/* flushed here, as errno is that of the write only now */
	if (fwrite(text->data, 1, text->size, stdout) == text->size && fflush(stdout) == 0)
		return EXIT_DONE;
	r = errno;
	clearerr(stdout);
	if (r == EPIPE)
		return EXIT_DONE;
	error_set(&error, -r, "cannot write standard output: %s", strerror(r));
	return fail(-r, &error);
}
