// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/print.h"

#include <errno.h>

#include "base/foreign.h"

static int print_bytes(FILE *stream, const void *data, size_t size)
{
	errno = 0;
	if (!size || fwrite(data, 1, size, stream) == size)
		return 0;
	return errno ? -errno : -EIO;
}

int print_text(FILE *stream, struct buffer *text, bool styles)
{
	if (buffer_failed(text))
		return -ENOMEM;
	text->size = foreign_clean_lines((char *)text->data, text->size, styles);
	return print_bytes(stream, text->data, text->size);
}

int print_string(FILE *stream, const char *text)
{
	return print_bytes(stream, text, strlen(text));
}

int print_message(const char *before, const char *text)
{
	return fprintf(stderr, "%s%s\n", before, text) < 0 ? -errno : 0;
}

void print_over(char *text, int width)
{
	foreign_clean(text);
	fprintf(stderr, "\r%-*s", width, text);
	fflush(stderr);
}
