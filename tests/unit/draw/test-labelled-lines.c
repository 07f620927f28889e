// SPDX-License-Identifier: GPL-2.0-only
/* Lines behind labels are cleaned, cut at the end of a word, and counted. */
#include "draw/labelled-lines.h"

#include "draw/common-screen.h"
#include "tests/check.h"

static const struct terminal narrow = { .width = 30, .wrap = 30, .height = 4 };

static const char *ended(struct labelled_lines *lines, const char *line, unsigned int most)
{
	lines->to->size = 0;
	lines->most = most;
	labelled_lines_say(lines, "%s", line);
	labelled_lines_end(lines, "label", STYLE_PLAIN);
	return buffer_shown(lines->to);
}

static void test_cut(void)
{
	static const char text[] = "one two three four five six seven eight nine ten";
	_cleanup_(buffer_done) struct buffer to = { 0 };
	struct labelled_lines lines = { .terminal = &narrow, .to = &to };

	CHECK_STR(ended(&lines, text, 0), "label    one two three four\n"
					  "         five six seven eight\n"
					  "         nine ten\n");
	CHECK_STR(ended(&lines, text, 3), "label    one two three four\n"
					  "         five six seven eight\n"
					  "         nine ten\n");
	CHECK_STR(ended(&lines, text, 2), "label    one two three four\n"
					  "         five six seven ..\n");
	CHECK_STR(ended(&lines, text, 1), "label    one two three ..\n");
	CHECK_STR(ended(&lines, "one two three four a b", 1), "label    one two three ..\n");
	/* the words behind the last one that fits are one byte long */
	CHECK_STR(ended(&lines, "one two three f o u r five", 1),
		  "label    one two three f o ..\n");
	labelled_lines_done(&lines);
}

/* A name cannot begin a line, or move the cursor. */
static void test_hostile(void)
{
	_cleanup_(buffer_done) struct buffer to = { 0 };
	struct labelled_lines lines = { .terminal = &narrow, .to = &to };

	CHECK_STR(ended(&lines, "a\nverdict\033[2J b", 0), "label    a?verdict?[2J b\n");
	labelled_lines_done(&lines);
}

static void test_tall(void)
{
	struct terminal endless = narrow;
	_cleanup_(buffer_done) struct buffer to = { 0 };
	struct labelled_lines lines = { .terminal = &narrow, .to = &to };

	buffer_text(&to, "before\n\n\n\n");
	for (size_t rows = 0, begin = to.size; rows < 5; rows++) {
		/* the last row of the terminal is the prompt's */
		CHECK_EQ(labelled_lines_is_tall(&lines, begin, 0), rows > 3);
		CHECK_EQ(labelled_lines_is_tall(&lines, begin, 2), rows > 1);
		buffer_text(&to, "row\n");
	}
	endless.height = 0;
	lines.terminal = &endless;
	CHECK(!labelled_lines_is_tall(&lines, 0, 9));
}

static unsigned int rows_of(struct buffer *text)
{
	unsigned int rows = 0;

	for (size_t i = 0; i < text->size; i++)
		rows += text->data[i] == '\n';
	return rows;
}

static uint32_t name_of(struct common_answer *answer, const char *name)
{
	uint32_t id;

	CHECK_EQ(strings_add(&answer->names, name, strlen(name), &id), 0);
	return id;
}

/* Four groups with all that an answer may say fit on a small terminal. */
static void test_common(void)
{
	const struct terminal small = { .width = 80, .wrap = 80, .height = 24 };
	const struct terminal large = { .width = 80, .wrap = 80, .height = 100 };
	const struct common_store store = { .path = "/srv/perftape/stores/of-a-host" };
	struct common_answer answer = {
		.compared = 99, .unread = 1, .controls = 240, .limited = true
	};
	const struct common_screen screen = { .answer = &answer, .stores = &store, .utc = true };
	uint32_t name = name_of(&answer, "a_function_with_a_name_that_is_rather_long");
	_cleanup_(buffer_done) struct buffer text = { 0 };

	CHECK_EQ(array_push(&answer.hosts, name_of(&answer, "host-1.zone-3.example.org")), 0);
	for (uint64_t i = 0; i < 101; i++)
		CHECK_EQ(array_push(&answer.cases,
				    (struct common_case){ .id = i + 1,
							  .read = i > 0,
							  .trait = i % 5,
							  .kind = name_of(&answer, "oom.kill") }),
			 0);
	for (answer.trait_count = 0; answer.trait_count < COMMON_TRAITS; answer.trait_count++) {
		struct common_trait *trait = &answer.traits[answer.trait_count];

		trait->lead =
			(struct common_row){ .kind = COMMON_FUNCTION, .name = name, .cases = 20 };
		for (; trait->companion_count < COMMON_COMPANIONS; trait->companion_count++)
			trait->companions[trait->companion_count] = trait->lead;
	}
	for (; answer.sign_count < COMMON_SIGNS; answer.sign_count++)
		answer.signs[answer.sign_count] =
			(struct common_sign){ .gauge = name, .vain = 0.1 };
	common_screen_draw(&screen, &large, &text);
	CHECK(rows_of(&text) > 40);
	CHECK(!strstr(buffer_shown(&text), "shortened to fit"));
	text.size = 0;
	common_screen_draw(&screen, &small, &text);
	CHECK(rows_of(&text) < 24);
	CHECK(strstr(buffer_shown(&text), "group 4"));
	CHECK(strstr(buffer_shown(&text), "(median"));
	CHECK(strstr(buffer_shown(&text), "shortened to fit"));
	CHECK(strstr(buffer_shown(&text), "100 more: --json lists all incidents"));
	common_done(&answer);
}

CHECK_MAIN({ "a line is cut at the end of a word", test_cut },
	   { "a name stays in its line", test_hostile }, { "rows are counted", test_tall },
	   { "the answer about all incidents fits", test_common })
