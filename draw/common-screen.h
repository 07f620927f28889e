/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The answer of `explain --all` as one screen: a label in the first columns, and wrapped text. */

#include "draw/terminal.h"
#include "query/common/common.h"

struct common_screen {
	const struct common_answer *answer;
	const struct common_store *stores;
	bool utc;
};

/* Draws the answer, in as short a form as the terminal's height needs. */
void common_screen_draw(const struct common_screen *screen, const struct terminal *terminal,
			struct buffer *text);
