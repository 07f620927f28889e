// SPDX-License-Identifier: GPL-2.0-only
/* Any text as the fact "unnamed": what is understood can be shown, and read again is the same. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/coverage/unnamed-text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void describe(const struct unnamed_text *nameless, struct buffer *text)
{
	unnamed_text_describe(nameless, text);
	buffer_u8(text, 0);
	if (buffer_failed(text))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *fact = strndup((const char *)data, size);
	_cleanup_(buffer_done) struct buffer once = { 0 }, twice = { 0 };
	struct unnamed_text nameless = { 0 }, again = { 0 };

	if (!fact)
		abort();
	unnamed_text_add(&nameless, fact);
	describe(&nameless, &once);
	for (size_t i = 0; i + 1 < once.size; i++)
		if (once.data[i] < ' ')
			abort();
	unnamed_text_add(&again, (const char *)once.data);
	describe(&again, &twice);
	if (once.size != twice.size || memcmp(once.data, twice.data, once.size) != 0)
		abort();
	return 0;
}
