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
#include "base/number.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/host-name.h"
#include "cli/options/print.h"

/* More threads would not help, because the kernel's clearing of memory limits the speed. */
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

void screen_read_lines(const struct invocation *invocation, struct terminal *ret_terminal)
{
	enum terminal_color color = TERMINAL_COLOR_NEVER;

	if (invocation && terminal_parse_color(option_value(invocation, "color"), &color) < 0)
		color = TERMINAL_COLOR_AUTO;
	terminal_read(ret_terminal, STDOUT_FILENO, color);
	ret_terminal->unicode = true;
}

const char *screen_short_time(const char *time, bool fractions, char text[TIME_TEXT_SIZE])
{
	size_t size = strcspn(time, "Z+");

	if (size < 19 || time[10] != 'T')
		return time;
	size = fractions ? MIN(size, (size_t)23) : 19;
	snprintf(text, TIME_TEXT_SIZE, "%.5s %.*s", time + 5, (int)size - 11, time + 11);
	return text;
}

const char *screen_time_of_day(uint64_t ns, uint64_t day_ns, bool utc, char text[TIME_TEXT_SIZE])
{
	char time[TIME_TEXT_SIZE], day[TIME_TEXT_SIZE];
	bool same =
		strncmp(time_format(ns, utc, 0, time), time_format(day_ns, utc, 0, day), 10) == 0;

	screen_short_time(time, false, text);
	if (same)
		memmove(text, text + 6, strlen(text + 6) + 1);
	return text;
}

unsigned int screen_lines_below(const struct invocation *invocation,
				const struct coverage *coverage)
{
	if (option_given(invocation, "quiet") || !isatty(STDERR_FILENO))
		return 0;
	return gaps_rows(invocation, coverage);
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
	char host[HOST_NAME_SIZE];

	buffer_printf(text, "%swindow ", host_name_prefix(&coverage->facts, host));
	window_describe(window, option_given(invocation, "utc"), text);
	if (window->note[0])
		buffer_printf(text, "\nnote: %s", window->note);
	buffer_printf(text, "\n%" PRIu64 " sample%s; ", samples, plural(samples));
	coverage_describe(coverage, text);
	buffer_u8(text, '\n');
}

/* Returns whether the filter selects by more than CPUs. */
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

/* Flushes, because errno describes the write only then. */
static int screen_write_flushed(struct buffer *text, bool styles)
{
	int r = print_text(stdout, text, styles);

	if (r < 0)
		return r;
	return fflush(stdout) < 0 ? -errno : 0;
}

static int screen_write(struct buffer *text, bool styles)
{
	struct error error;
	int r = screen_write_flushed(text, styles);

	if (r >= 0)
		return EXIT_DONE;
	if (r == -ENOMEM)
		return fail(r, NULL);
	clearerr(stdout);
	if (r == -EPIPE)
		return EXIT_DONE;
	error_set(&error, r, "cannot write standard output: %s", strerror(-r));
	return fail(r, &error);
}

int screen_print(struct buffer *text)
{
	return screen_write(text, false);
}

int screen_print_drawing(const struct terminal *terminal, struct buffer *text)
{
	return screen_write(text, terminal->color);
}
