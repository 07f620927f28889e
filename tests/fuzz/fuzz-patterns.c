// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pattern on the first line, a message on the rest. Whatever a user writes, matching must end,
 * and fields must lie within the message.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "incidents/patterns/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	char *message = strchr(text, '\n');
	struct pattern pattern;
	struct fields fields;
	struct error error = { 0 };

	if (message)
		*message++ = 0;
	else
		message = text + strlen(text);
	if (pattern_init(&pattern, text, &error) < 0) {
		assert(*error.text);
		return 0;
	}
	for (int truncated = 0; truncated < 2; truncated++) {
		if (!pattern_match(&pattern, message, strlen(message), true, truncated, &fields))
			continue;
		for (size_t i = 0; i < fields.count; i++)
			assert(fields.list[i].value >= message &&
			       fields.list[i].value + fields.list[i].size <=
				       message + strlen(message));
	}
	pattern_done(&pattern);
	return 0;
}
