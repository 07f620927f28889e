// SPDX-License-Identifier: GPL-2.0-only
#include "query/coverage/stacks-text.h"

#include <stdio.h>

#include "base/cleanup.h"

/*
 * Returns a percentage. Rounding never turns a share below 100 % into 100 %, or one above 0 into 0.
 */
static double stacks_text_percent(uint64_t count, uint64_t all)
{
	double percent = 100.0 * count / all;

	if (count < all && percent > 99.9)
		return 99.9;
	return count && percent < 0.1 ? 0.1 : percent;
}

const char *stacks_text(const struct stack_shares *shares, char text[STACKS_TEXT_SIZE])
{
	const struct {
		uint64_t count;
		const char *words;
	} parts[] = {
		{ shares->whole, "whole" },
		{ shares->cut, "cut" },
		{ shares->frame_pointers, "by frame pointer only" },
	};
	uint64_t all = shares->whole + shares->cut + shares->frame_pointers;
	size_t size = 0;

	text[0] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].count)
			size += snprintf(text + size, STACKS_TEXT_SIZE - size, "%s%.1f %% %s",
					 size ? ", " : "", stacks_text_percent(parts[i].count, all),
					 parts[i].words);
	return text;
}

void stacks_text_put_json(const struct stack_shares *shares, struct buffer *json)
{
	json_open(json, '{');
	json_key(json, "whole");
	json_u64(json, shares->whole);
	json_key(json, "cut");
	json_u64(json, shares->cut);
	json_key(json, "frame_pointers");
	json_u64(json, shares->frame_pointers);
	json_close(json, '}');
}
