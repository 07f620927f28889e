// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/progress-line.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/options/print.h"

#define STEP_NS (200 * NSEC_PER_MSEC)

static bool ends_part(const char *text, size_t size)
{
	return strncmp(text + size, "  ", 2) == 0 || strncmp(text + size, ", ", 2) == 0;
}

size_t progress_line_fits(const char *text, size_t width)
{
	size_t size = strlen(text), part = width, word = width;

	if (size <= width)
		return size;
	while (part && !ends_part(text, part))
		part--;
	if (part)
		return part;
	/* the first part is too wide: show its first words */
	while (word && text[word] != ' ')
		word--;
	return word;
}

/*
 * Blanks overwrite the previous line, because not every terminal can erase. The text is cut to one
 * row, because the next line could not overwrite two rows.
 */
void progress_line_line(const char *text)
{
	struct winsize size;
	char shown[512];
	int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;

	snprintf(shown, sizeof(shown), "%.*s", (int)progress_line_fits(text, width - 1), text);
	print_over(shown, width - 1);
}

void progress_line_clear(void)
{
	progress_line_line("");
	print_string(stderr, "\r");
}

void progress_line_start(struct progress_line *progress, const char *what, bool quiet)
{
	*progress = (struct progress_line){
		.what = what,
		.shown = !quiet && isatty(STDERR_FILENO),
		.started_ns = clock_ns(CLOCK_MONOTONIC),
	};
}

void progress_line_show(void *context, uint64_t done, uint64_t size)
{
	struct progress_line *progress = context;
	char left[32], text[256];
	double part = size ? (double)done / size : 1;
	uint64_t now_ns, left_ns;

	if (!progress->shown)
		return;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	if (now_ns - MAX(progress->last_ns, progress->started_ns) < STEP_NS)
		return;
	/* the rest would be replaced before anybody can read it */
	left_ns = (now_ns - progress->started_ns) * (1 - part) / MAX(part, 0.001);
	if (left_ns < STEP_NS)
		return;
	progress->last_ns = now_ns;
	duration_format(left_ns, left, sizeof(left));
	snprintf(text, sizeof(text), "%3.0f %%  %s left  %s", 100 * part, left, progress->what);
	progress_line_line(text);
}

void progress_line_end(struct progress_line *progress)
{
	if (progress->last_ns)
		progress_line_clear();
}
