// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/patterns/kernel-words.h"

#include <ctype.h>
#include <string.h>

#include "incidents/patterns/text-cursor.h"

/* The most bytes that the kernel keeps of a task's name. */
#define COMM_MAX 15

/*
 * The words that pr_fmt() and similar macros of the kernel put before messages that are incidents.
 */
static const char *const words[] = {
	"NMI watchdog:",       "watchdog:",	   "rcu:",	   "mce:",	 "clocksource:",
	"blk_update_request:", "print_req_error:", "end_request:", "infiniband", "[sched_delayed]",
};

static bool take_words(struct text_cursor *cursor)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (take_text(cursor, words[i]))
			return true;
	return false;
}

bool kernel_words_name_task(const char *text, size_t size)
{
	for (size_t i = 1; i <= COMM_MAX && i < size; i++) {
		struct text_cursor cursor = { text + i, text + size };
		uint64_t pid;

		if (take_char(&cursor, '[') && take_number(&cursor, 1, 10, &pid) &&
		    take_char(&cursor, ']') &&
		    (text_cursor_is(&cursor, ':') || text_cursor_is(&cursor, ' ')))
			return true;
	}
	return false;
}

bool kernel_words_quote_path(const char *text, size_t size)
{
	struct text_cursor cursor = { text, text + size };

	return take_text(&cursor, "process '");
}

bool kernel_words_only(const char *text, size_t size)
{
	struct text_cursor cursor = { text, text + size };

	take_blanks(&cursor);
	while (cursor.at < cursor.end && take_words(&cursor))
		take_blanks(&cursor);
	return cursor.at == cursor.end;
}
