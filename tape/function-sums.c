// SPDX-License-Identifier: GPL-2.0-only
/*
 * function_sums_add() adds a weight at the innermost node of a stack. function_sums_finish() passes
 * the weights from callee to caller. One pass is enough, because a parent has a smaller number. The
 * calls are ordered by caller, so that the weights of one caller's callees fit into one array.
 */
#include "tape/function-sums.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

/* Resizes an array and zeroes it. Reserves one item more, because memset() does not accept NULL. */
#define array_zero(array, wanted)                                                  \
	(array_reserve((array), (wanted) + 1) < 0                                  \
		 ? -ENOMEM                                                         \
		 : (memset((array)->items, 0, (wanted) * sizeof(*(array)->items)), \
		    (array)->count = (wanted), 0))

/* `led` is 0 below this share: such a function does more than lead to a single callee. */
#define LED_LEAST 0.75

/* One function calls another; the weight is that of the callee's stack. */
struct call {
	uint32_t caller, callee;
	uint64_t weight;
};

void function_sums_done(struct function_sums *sums)
{
	array_done(&sums->list);
	array_done(&sums->leaves);
	array_done(&sums->subtrees);
	array_done(&sums->functions);
	array_done(&sums->sets);
	array_done(&sums->firsts);
	array_done(&sums->calls);
	array_done(&sums->callees);
}

static uint32_t stack_function(const struct function_sums *sums, uint32_t stack)
{
	return sums->functions.items[stack];
}

int function_sums_begin(struct function_sums *sums, const struct tape *tape)
{
	sums->tape = tape;
	sums->leaves.count = 0;
	if (array_zero(&sums->list, tape_function_count(tape)) < 0 ||
	    array_zero(&sums->subtrees, tape->stacks.count) < 0 ||
	    array_zero(&sums->functions, tape->stacks.count) < 0 ||
	    array_zero(&sums->sets, tape->stacks.count) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < tape->stacks.count; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];
		uint32_t function = tape_function_of(tape, stack->frame);

		sums->functions.items[i] = function;
		sums->sets.items[i] = sums->sets.items[stack->parent] | 1ull << function % 64;
	}
	return 0;
}

static bool function_sums_is_within(const struct function_sums *sums, uint32_t stack,
				    uint32_t function)
{
	const struct tape_stack *stacks = sums->tape->stacks.items;

	if (!(sums->sets.items[stack] & 1ull << function % 64))
		return false;
	for (; stack; stack = stacks[stack].parent)
		if (stack_function(sums, stack) == function)
			return true;
	return false;
}

static bool function_sums_is_kernel(const struct tape *tape, uint32_t frame)
{
	return tape->modules.items[tape->frames.items[frame].module].kind == TAPE_MODULE_KERNEL;
}

int function_sums_add(struct function_sums *sums, uint32_t stack, uint32_t frame, uint64_t weight)
{
	uint32_t function = tape_function_of(sums->tape, frame);
	struct function_sum *sum = &sums->list.items[function];

	if (!weight)
		return 0;
	sum->self += weight;
	sum->kernel |= function_sums_is_kernel(sums->tape, frame);
	if (!function_sums_is_within(sums, stack, function))
		sum->total += weight;
	sums->subtrees.items[stack] += weight;
	if (!stack)
		return 0;
	return array_push(&sums->leaves, (struct function_leaf){ stack, function, weight });
}

/* Goes backwards, so that callees come before their callers. */
static void pass_to_callers(struct function_sums *sums)
{
	const struct tape_stack *stacks = sums->tape->stacks.items;
	uint64_t *subtrees = sums->subtrees.items;

	for (size_t i = sums->tape->stacks.count; i-- > 1;) {
		uint32_t function = stack_function(sums, i), parent = stacks[i].parent;
		struct function_sum *sum = &sums->list.items[function];

		if (!subtrees[i])
			continue;
		subtrees[parent] += subtrees[i];
		sum->kernel |= function_sums_is_kernel(sums->tape, stacks[i].frame);
		if (!function_sums_is_within(sums, parent, function))
			sum->total += subtrees[i];
	}
}

/*
 * Returns a call by its number. First come the calls of each stack by its parent, then the calls of
 * leaves.
 */
static bool call_at(const struct function_sums *sums, size_t number, struct call *ret_call)
{
	size_t stacks = sums->tape->stacks.count;
	const struct function_leaf *leaf;
	uint32_t parent;

	if (number < stacks) {
		parent = sums->tape->stacks.items[number].parent;
		if (!sums->subtrees.items[number] || !parent)
			return false;
		*ret_call =
			(struct call){ stack_function(sums, parent), stack_function(sums, number),
				       sums->subtrees.items[number] };
	} else {
		leaf = &sums->leaves.items[number - stacks];
		*ret_call = (struct call){ stack_function(sums, leaf->stack), leaf->function,
					   leaf->weight };
	}
	return ret_call->caller != ret_call->callee;
}

static int order_calls(struct function_sums *sums)
{
	size_t count = sums->tape->stacks.count + sums->leaves.count, sum = 0;
	struct call call;

	if (array_zero(&sums->firsts, sums->list.count + 1) < 0 ||
	    array_reserve(&sums->calls, count) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < count; i++)
		if (call_at(sums, i, &call))
			sums->firsts.items[call.caller]++;
	for (size_t i = 0; i < sums->firsts.count; i++) {
		uint32_t own = sums->firsts.items[i];

		sums->firsts.items[i] = sum;
		sum += own;
	}
	for (size_t i = 1; i < count; i++)
		if (call_at(sums, i, &call))
			sums->calls.items[sums->firsts.items[call.caller]++] = i;
	sums->calls.count = sum;
	return 0;
}

/* Finds the callee with the most weight among the calls of one caller. */
static uint64_t most_called(struct function_sums *sums, size_t from, size_t to)
{
	uint64_t most = 0;
	struct call call;

	for (size_t i = from; i < to; i++) {
		if (call_at(sums, sums->calls.items[i], &call)) {
			sums->callees.items[call.callee] += call.weight;
			most = MAX(most, sums->callees.items[call.callee]);
		}
	}
	for (size_t i = from; i < to; i++)
		if (call_at(sums, sums->calls.items[i], &call))
			sums->callees.items[call.callee] = 0;
	return most;
}

int function_sums_finish(struct function_sums *sums)
{
	size_t from = 0;
	uint64_t led;

	pass_to_callers(sums);
	if (order_calls(sums) < 0 || array_zero(&sums->callees, sums->list.count) < 0)
		return -ENOMEM;
	/* order_calls() left the end of each caller's calls in firsts[] */
	for (size_t i = 0; i < sums->list.count; i++) {
		led = most_called(sums, from, sums->firsts.items[i]);
		led = MIN(led, sums->list.items[i].total);
		if (led >= LED_LEAST * (double)sums->list.items[i].total)
			sums->list.items[i].led = led;
		from = sums->firsts.items[i];
	}
	return 0;
}
