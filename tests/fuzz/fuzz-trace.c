// SPDX-License-Identifier: GPL-2.0-only
/* A format file, a NUL, and the bytes of an event that the file describes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/trace/trace-decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int give(void *context, const char *name, const char *value, size_t size)
{
	volatile char last = size ? value[size - 1] : *name;

	if (size > TRACE_VALUE_MAX)
		abort();
	*(size_t *)context += last;
	return 0;
}

static void ask(const struct trace_format *format, const struct trace_raw *raw)
{
	size_t sum = 0, text_size;
	const char *text;
	uint64_t number;

	trace_decode(format, raw, give, &sum);
	for (uint32_t i = 0; i <= format->fields.count; i++) {
		trace_number(format, raw, i, &number);
		if (trace_text(format, raw, i, &text, &text_size) && text_size &&
		    memchr(text, 0, text_size))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t text_size = end ? (size_t)(end - data) : size;
	struct trace_format *format;
	uint8_t *bytes;

	if (trace_format_parse("fuzz", (const char *)data, text_size, &format) < 0)
		return 0;
	/* memory of exactly the event's size, so that the sanitizer sees a read beyond its end */
	size -= text_size + !!end;
	bytes = malloc(size ? size : 1);
	if (!bytes)
		abort();
	if (end)
		memcpy(bytes, end + 1, size);
	ask(format, &(struct trace_raw){ bytes, size });
	free(bytes);
	trace_format_free(format);
	return 0;
}
