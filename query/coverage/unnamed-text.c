// SPDX-License-Identifier: GPL-2.0-only
#include "query/coverage/unnamed-text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static void add_one(struct unnamed_text *nameless, uint64_t frames, const char *why, size_t size)
{
	size_t i = 0;

	while (i < nameless->count &&
	       (strncmp(nameless->items[i].why, why, size) != 0 || nameless->items[i].why[size]))
		i++;
	if (!size || size >= sizeof(nameless->items[0].why) || i == UNNAMED_TEXT_MAX)
		return;
	if (i == nameless->count) {
		memcpy(nameless->items[i].why, why, size);
		nameless->items[i].why[size] = 0;
		nameless->items[i].frames = 0;
		nameless->count++;
	}
	nameless->items[i].frames += frames;
}

/* It goes to a terminal as it is, and a tape may be of anybody. */
static bool unnamed_text_is_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

void unnamed_text_add(struct unnamed_text *nameless, const char *fact)
{
	while (*fact) {
		size_t size = strcspn(fact, ",");
		char *why;
		uint64_t frames = strtoull(fact, &why, 10);

		if (*fact >= '0' && *fact <= '9' && *why == ' ' &&
		    unnamed_text_is_text(why, fact + size - why))
			add_one(nameless, frames, why + 1, fact + size - why - 1);
		fact += size;
		fact += strspn(fact, ", ");
	}
}

void unnamed_text_describe(const struct unnamed_text *nameless, struct buffer *text)
{
	for (size_t i = 0; i < nameless->count; i++)
		buffer_printf(text, "%s%" PRIu64 " %s", i ? ", " : "", nameless->items[i].frames,
			      nameless->items[i].why);
}

void unnamed_text_put_json(const struct unnamed_text *nameless, struct buffer *json)
{
	json_open(json, '{');
	for (size_t i = 0; i < nameless->count; i++) {
		json_key(json, nameless->items[i].why);
		json_u64(json, nameless->items[i].frames);
	}
	json_close(json, '}');
}
