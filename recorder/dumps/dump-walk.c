// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/dumps/dump-walk.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/file.h"
#include "base/mutation.h"

void dump_walk_init(struct dump_walk *walk, struct tracker *tracker, struct unwind_tables *tables)
{
	_cleanup_free_ char *text = NULL;

	*walk = (struct dump_walk){ .machine = UNWIND_MACHINE_HERE,
				    .codes = { .tracker = tracker, .tables = tables },
				    .chain_max = PERF_MAX_STACK_DEPTH };
	if (file_read("/proc/sys/kernel/perf_event_max_stack", 64, &text, NULL) == 0)
		walk->chain_max = strtoull(text, NULL, 10);
}

size_t dump_walk_find_user(const struct perf_record *record)
{
	size_t count = record->sample.chain_count;

	for (size_t i = 0; i < count; i++)
		if (perf_chain_at(record, i) == (uint64_t)PERF_CONTEXT_USER)
			return i + 1;
	return count;
}

/*
 * Returns whether the code at the walk's last address leaves its caller's frame pointer in the
 * register.
 */
static bool dump_walk_keeps_frame(struct dump_code *code, const struct stack_walk *stack)
{
	uint64_t address = stack->addresses[stack->count - 1] - (stack->count > 1);
	struct stack_code at;
	struct unwind_rule rule;

	if (!dump_code_find(code, address, &at))
		return false;
	if (at.kind != STACK_CODE_TABLE)
		return at.kind == STACK_CODE_BARE;
	unwind_table_find(at.table, address - at.start + at.offset, &rule);
	return rule.kind == UNWIND_RULE_UNKNOWN ||
	       (rule.kind == UNWIND_RULE_REGISTER &&
		rule.number == user_register_frame(stack->machine));
}

static bool dump_walk_word(const struct stack_walk *stack, uint64_t address, uint64_t *ret_word)
{
	uint64_t offset = address - stack->copy_address;

	if (stack->copy_size < sizeof(*ret_word) || offset > stack->copy_size - sizeof(*ret_word))
		return false;
	memcpy(ret_word, stack->copy + offset, sizeof(*ret_word));
	return true;
}

/*
 * Follows the frame pointers as the kernel did, to the frame at which the walk ended. Returns the
 * index of the caller that the kernel found in this frame, or the number of entries if the kernel
 * did not reach the frame.
 */
static size_t dump_walk_find_splice(const struct perf_record *record, size_t user,
				    const struct stack_walk *stack, uint64_t frame)
{
	uint64_t last = stack->registers.values[user_register_frame(stack->machine)];
	size_t count = record->sample.chain_count;

	for (size_t i = user + 1; i < count; i++) {
		if (frame == last)
			return i;
		if (!dump_walk_word(stack, frame, &frame))
			break;
	}
	return count;
}

/*
 * Appends the kernel's callers from `at` on. Returns false if the kernel may have cut them at its
 * limit.
 */
static bool dump_walk_splice(const struct dump_walk *walk, const struct perf_record *record,
			     size_t at, struct dump_chain *chain)
{
	size_t marks = 0;

	for (size_t i = 0; i < record->sample.chain_count; i++)
		marks += perf_chain_at(record, i) >= PERF_CHAIN_MARKS;
	for (size_t i = at; i < record->sample.chain_count; i++)
		chain->entries.items[chain->entries.count++] = perf_chain_at(record, i);
	return record->sample.chain_count - marks < walk->chain_max;
}

static enum perf_user_end dump_walk_complete(struct dump_walk *walk,
					     const struct perf_record *record, struct dump_job *job,
					     struct dump_chain *chain)
{
	const struct stack_walk *stack = &job->stack;
	size_t at;

	if (!stack->count || stack->end == STACK_CUT_DEEP ||
	    !dump_walk_keeps_frame(&job->code, stack))
		return PERF_USER_CUT;
	at = dump_walk_find_splice(record, job->user, stack, job->frame);
	if (at == record->sample.chain_count)
		return PERF_USER_CUT;
	walk->spliced++;
	return dump_walk_splice(walk, record, at, chain) ? PERF_USER_WHOLE : PERF_USER_CUT;
}

/* Copies the entries before the user's addresses, and adds the user's mark if it is missing. */
static int dump_walk_copy_head(const struct perf_record *record, size_t user,
			       struct dump_chain *chain)
{
	size_t count = record->sample.chain_count;
	uint64_t mark = (uint64_t)PERF_CONTEXT_USER;

	chain->entries.count = 0;
	if (array_reserve(&chain->entries, count + 1 + STACK_WALK_FRAMES) < 0)
		return -ENOMEM;
	memcpy(chain->entries.items, record->sample.chain, user * sizeof(mark));
	chain->entries.count = user;
	if (!user || perf_chain_at(record, user - 1) != mark)
		chain->entries.items[chain->entries.count++] = mark;
	return 0;
}

static bool dump_walk_registers(const struct dump_walk *walk, const struct perf_record *record,
				struct user_registers *registers)
{
	const struct perf_user *user = &record->sample.user;

	return user->abi == PERF_SAMPLE_REGS_ABI_64 &&
	       user_registers_from_perf(walk->machine, user->regs_mask, user->regs,
					8 * __builtin_popcountll(user->regs_mask), registers);
}

void dump_walk_turn(struct dump_walk *walk)
{
	dump_codes_forget(&walk->codes);
}

int dump_walk_begin(struct dump_walk *walk, struct perf_record *record, struct dump_chain *chain,
		    struct dump_job *job)
{
	const struct perf_user *user = &record->sample.user;
	struct stack_walk *stack = &job->stack;
	int r;

	record->sample.user_end = PERF_USER_FRAME_POINTERS;
	job->is_walking = job->is_going = false;
	stack->machine = walk->machine;
	if (mutated("no-tables") || !tracker_process(walk->codes.tracker, record->pid) ||
	    !dump_walk_registers(walk, record, &stack->registers))
		return 0;
	job->user = dump_walk_find_user(record);
	r = dump_walk_copy_head(record, job->user, chain);
	if (r < 0)
		return r;
	job->code = (struct dump_code){ &walk->codes, record->pid };
	job->frame = stack->registers.values[user_register_frame(walk->machine)];
	stack->copy = user->stack;
	stack->copy_size = user->stack_size;
	stack->copy_address = stack->registers.values[user_register_sp(walk->machine)];
	stack->find = dump_code_find;
	stack->context = &job->code;
	stack->addresses = chain->entries.items + chain->entries.count;
	stack->max = STACK_WALK_FRAMES;
	stack->rules = walk->rules;
	job->is_walking = true;
	job->is_going = stack_walk_begin(stack);
	return 0;
}

void dump_walk_step(struct dump_job *job)
{
	if (job->is_going)
		job->is_going = stack_walk_step(&job->stack);
}

void dump_walk_end(struct dump_walk *walk, struct perf_record *record, struct dump_chain *chain,
		   struct dump_job *job)
{
	struct stack_walk *stack = &job->stack;

	if (!job->is_walking)
		return;
	while (job->is_going)
		dump_walk_step(job);
	walk->ends[stack->end]++;
	if (stack->end == STACK_CUT_WAITING)
		return;
	chain->entries.count += stack->count;
	record->sample.user_end = stack->end == STACK_WHOLE
					  ? PERF_USER_WHOLE
					  : dump_walk_complete(walk, record, job, chain);
	record->sample.chain = (const uint8_t *)chain->entries.items;
	record->sample.chain_count = chain->entries.count;
}
