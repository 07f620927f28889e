// SPDX-License-Identifier: GPL-2.0-only
/* The sums of functions are those that a simple count of each stack gives, also with recursion. */
#include "tests/check.h"

#include "tape/function-sums.h"
#include "tests/random.h"
#include "tests/tapes.h"

#define DEPTH_MAX 24
#define FUNCTIONS_MAX 48

/* A stack with its leaf: the functions from the outermost on, numbered as in the tape. */
struct line {
	uint32_t functions[DEPTH_MAX];
	size_t depth;
	uint32_t stack, frame;
	uint64_t weight;
};

struct lines {
	array_of(struct line) list;
};

/* Adds a random stack of a few functions. Few functions mean much recursion. */
static void add_line(struct tape *tape, uint32_t functions, struct lines *lines)
{
	uint32_t module = tapes_module(tape, "/usr/bin/program", TAPE_MODULE_ELF), stack = 0;
	struct line line = { .weight = random_below(5) * (1 + random_below(1000)) };
	size_t depth = 1 + random_below(DEPTH_MAX);
	char name[16];

	for (; line.depth < depth; line.depth++) {
		uint32_t function = random_below(4) ? random_below(functions) : line.depth % 2;

		snprintf(name, sizeof(name), "function_%u", function);
		stack = tapes_call(tape, stack, module, 0x1000 * function + random_below(3), name);
		line.frame = tape->stacks.items[stack].frame;
		line.functions[line.depth] = tape_function_of(tape, line.frame);
	}
	line.stack = tape->stacks.items[stack].parent;
	CHECK_EQ(array_push(&lines->list, line), 0);
}

static bool line_has(const struct line *line, uint32_t function)
{
	for (size_t i = 0; i < line->depth; i++)
		if (line->functions[i] == function)
			return true;
	return false;
}

/* Returns how much time the function spent in calls of the other one. */
static uint64_t called(const struct lines *lines, uint32_t caller, uint32_t callee)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < lines->list.count; i++)
		for (size_t at = 1; at < lines->list.items[i].depth; at++)
			if (lines->list.items[i].functions[at - 1] == caller &&
			    lines->list.items[i].functions[at] == callee)
				sum += lines->list.items[i].weight;
	return sum;
}

static struct function_sum count_function(const struct lines *lines, size_t functions,
					  uint32_t function)
{
	struct function_sum sum = { 0 };

	for (size_t i = 0; i < lines->list.count; i++) {
		const struct line *line = &lines->list.items[i];

		sum.total += line_has(line, function) ? line->weight : 0;
		sum.self += line->functions[line->depth - 1] == function ? line->weight : 0;
	}
	for (uint32_t callee = 0; callee < functions; callee++)
		if (callee != function)
			sum.led = MAX(sum.led, called(lines, function, callee));
	sum.led = MIN(sum.led, sum.total);
	if (4 * sum.led < 3 * sum.total)
		sum.led = 0;
	return sum;
}

static void check_tape(uint32_t functions, struct function_sums *sums)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 1);
	struct lines lines = { 0 };

	for (uint32_t i = random_below(60); i; i--)
		add_line(tape, functions, &lines);
	CHECK_EQ(function_sums_begin(sums, tape), 0);
	for (size_t i = 0; i < lines.list.count; i++)
		CHECK_EQ(function_sums_add(sums, lines.list.items[i].stack,
					   lines.list.items[i].frame, lines.list.items[i].weight),
			 0);
	CHECK_EQ(function_sums_finish(sums), 0);
	CHECK_EQ(sums->list.count, tape_function_count(tape));
	for (size_t i = 0; i < sums->list.count; i++) {
		struct function_sum sum = count_function(&lines, sums->list.count, i);

		CHECK_EQ(sums->list.items[i].self, sum.self);
		CHECK_EQ(sums->list.items[i].total, sum.total);
		CHECK_EQ(sums->list.items[i].led, sum.led);
		CHECK(!sums->list.items[i].kernel);
	}
	array_done(&lines.list);
}

/* The next tape uses the memory again. */
static void test_random_stacks(void)
{
	struct function_sums sums = { 0 };

	for (uint32_t i = 0; i < 300; i++)
		check_tape(2 + random_below(i % 3 ? 6 : FUNCTIONS_MAX), &sums);
	function_sums_done(&sums);
}

CHECK_MAIN({ "random stacks add up", test_random_stacks })
