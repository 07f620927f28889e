// SPDX-License-Identifier: GPL-2.0-only
/*
 * function_sums_add() adds a weight at the innermost node of a stack. function_sums_finish() passes
 * the weights from callee to caller. One pass is enough, because a parent has a smaller number.
 *
 * An election (algorithm of Boyer and Moore) finds the main callee of each function on the way: if
 * one callee has more than half of the weight of all calls, it wins. So it wins whenever it has 3/4
 * of the function's total, unless the calls weigh 3/2 of the total or more. Only recursion makes
 * them so heavy. The calls of such functions are ordered by caller, and added up one by one.
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
	array_done(&sums->nodes);
	array_done(&sums->votes);
	array_done(&sums->firsts);
	array_done(&sums->calls);
	array_done(&sums->callees);
}

static bool function_sums_is_kernel(const struct tape *tape, uint32_t frame)
{
	return tape->modules.items[tape->frames.items[frame].module].kind == TAPE_MODULE_KERNEL;
}

int function_sums_begin(struct function_sums *sums, const struct tape *tape)
{
	struct function_node *nodes;

	sums->tape = tape;
	sums->leaves.count = 0;
	if (array_zero(&sums->list, tape_function_count(tape)) < 0 ||
	    array_zero(&sums->votes, tape_function_count(tape)) < 0 ||
	    array_reserve(&sums->nodes, tape->stacks.count + 1) < 0)
		return -ENOMEM;
	nodes = sums->nodes.items;
	nodes[0] = (struct function_node){ 0 };
	for (size_t i = 1; i < tape->stacks.count; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];
		uint32_t function = tape_function_of(tape, stack->frame);

		nodes[i] = (struct function_node){
			.set = nodes[stack->parent].set | 1ull << function % 64,
			.function = function,
			.kernel = function_sums_is_kernel(tape, stack->frame),
		};
	}
	return 0;
}

static bool function_sums_is_within(const struct function_sums *sums, uint32_t stack,
				    uint32_t function)
{
	const struct tape_stack *stacks = sums->tape->stacks.items;
	const struct function_node *nodes = sums->nodes.items;

	if (!(nodes[stack].set & 1ull << function % 64))
		return false;
	for (; stack; stack = stacks[stack].parent)
		if (nodes[stack].function == function)
			return true;
	return false;
}

/* Casts the vote of one call. A function does not lead to itself. */
static void function_sums_vote(struct function_sums *sums, uint32_t caller, uint32_t callee,
			       uint64_t weight)
{
	struct function_vote *vote = &sums->votes.items[caller];

	if (caller == callee)
		return;
	vote->calls += weight;
	if (vote->callee == callee) {
		vote->lead += weight;
	} else if (vote->lead >= weight) {
		vote->lead -= weight;
	} else {
		vote->callee = callee;
		vote->lead = weight - vote->lead;
	}
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
	sums->nodes.items[stack].subtree += weight;
	if (!stack)
		return 0;
	function_sums_vote(sums, sums->nodes.items[stack].function, function, weight);
	return array_push(&sums->leaves, (struct function_leaf){ stack, function, weight });
}

/* Goes backwards, so that callees come before their callers. */
static void pass_to_callers(struct function_sums *sums)
{
	const struct tape_stack *stacks = sums->tape->stacks.items;
	struct function_node *nodes = sums->nodes.items;

	for (size_t i = sums->tape->stacks.count; i-- > 1;) {
		const struct function_node *node = &nodes[i];
		uint32_t parent = stacks[i].parent;
		struct function_sum *sum = &sums->list.items[node->function];

		if (!node->subtree)
			continue;
		nodes[parent].subtree += node->subtree;
		sum->kernel |= node->kernel;
		if (!function_sums_is_within(sums, parent, node->function))
			sum->total += node->subtree;
		if (parent)
			function_sums_vote(sums, nodes[parent].function, node->function,
					   node->subtree);
	}
}

static void function_sums_count_call(struct function_sums *sums, uint32_t caller, uint32_t callee,
				     uint64_t weight)
{
	struct function_vote *vote = &sums->votes.items[caller];

	vote->of_callee += vote->callee == callee && caller != callee ? weight : 0;
}

/* Adds up the calls of each function to the winner of its election. */
static void function_sums_count_votes(struct function_sums *sums)
{
	const struct function_node *nodes = sums->nodes.items;

	for (size_t i = 1; i < sums->tape->stacks.count; i++) {
		uint32_t parent = sums->tape->stacks.items[i].parent;

		if (parent)
			function_sums_count_call(sums, nodes[parent].function, nodes[i].function,
						 nodes[i].subtree);
	}
	for (size_t i = 0; i < sums->leaves.count; i++) {
		const struct function_leaf *leaf = &sums->leaves.items[i];

		function_sums_count_call(sums, nodes[leaf->stack].function, leaf->function,
					 leaf->weight);
	}
}

/* Returns whether a callee with enough weight for `led` might lose the election. */
static bool function_sums_is_contested(const struct function_sums *sums, size_t function)
{
	return (double)sums->votes.items[function].calls >=
	       2 * LED_LEAST * (double)sums->list.items[function].total;
}

/*
 * Returns a call by its number, if its caller is contested. First come the calls of each stack by
 * its parent, then the calls of leaves.
 */
static bool call_at(const struct function_sums *sums, size_t number, struct call *ret_call)
{
	const struct function_node *nodes = sums->nodes.items;
	size_t stacks = sums->tape->stacks.count;
	const struct function_leaf *leaf;
	uint32_t parent;

	if (number < stacks) {
		parent = sums->tape->stacks.items[number].parent;
		if (!nodes[number].subtree || !parent)
			return false;
		*ret_call = (struct call){ nodes[parent].function, nodes[number].function,
					   nodes[number].subtree };
	} else {
		leaf = &sums->leaves.items[number - stacks];
		*ret_call =
			(struct call){ nodes[leaf->stack].function, leaf->function, leaf->weight };
	}
	return ret_call->caller != ret_call->callee &&
	       function_sums_is_contested(sums, ret_call->caller);
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

static void function_sums_lead(struct function_sum *sum, uint64_t led)
{
	led = MIN(led, sum->total);
	sum->led = led >= LED_LEAST * (double)sum->total ? led : 0;
}

/* Adds up the calls of contested functions one by one. */
static int function_sums_recount(struct function_sums *sums)
{
	size_t from = 0;

	if (order_calls(sums) < 0 || array_zero(&sums->callees, sums->list.count) < 0)
		return -ENOMEM;
	/* order_calls() left the end of each caller's calls in firsts[] */
	for (size_t i = 0; i < sums->list.count; i++) {
		if (from < sums->firsts.items[i])
			function_sums_lead(&sums->list.items[i],
					   most_called(sums, from, sums->firsts.items[i]));
		from = sums->firsts.items[i];
	}
	return 0;
}

int function_sums_finish(struct function_sums *sums)
{
	bool contested = false;

	pass_to_callers(sums);
	function_sums_count_votes(sums);
	for (size_t i = 0; i < sums->list.count; i++) {
		function_sums_lead(&sums->list.items[i], sums->votes.items[i].of_callee);
		contested |= sums->votes.items[i].calls && function_sums_is_contested(sums, i);
	}
	return contested ? function_sums_recount(sums) : 0;
}
