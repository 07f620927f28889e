// SPDX-License-Identifier: GPL-2.0-only
#include "unwind/stack-walk.h"

#include "base/bytes.h"
#include "base/cleanup.h"

/* No end: the walk goes on. */
#define GO_ON STACK_ENDS

const char *stack_end_text(enum stack_end end)
{
	static const char *const texts[STACK_ENDS] = {
		"whole", "copy", "unmapped", "no rule", "strange rule", "loop", "deep", "waiting",
	};

	return end < STACK_ENDS ? texts[end] : "";
}

#define CACHE_LINE 64

/* A walk, and the numbers of its machine's special registers. */
struct walk_state {
	struct stack_walk *walk;
	struct user_registers *registers;
	unsigned int pc, sp, frame;
};

static uint64_t walk_value(const struct walk_state *state, unsigned int number)
{
	return state->registers->values[number];
}

/* Reads a word of the stack. Returns false if the word lies outside of the copy. */
static bool read_stack(const struct walk_state *state, uint64_t address, uint64_t *ret_value)
{
	struct stack_walk *walk = state->walk;
	uint64_t at = address - walk->copy_address, value;

	if (at <= UINT32_MAX)
		walk->needed = MAX(walk->needed, at + sizeof(value));
	if (at >= walk->copy_size || walk->copy_size - at < sizeof(value))
		return false;
	memcpy(&value, walk->copy + at, sizeof(value));
	*ret_value = le64toh(value);
	return true;
}

/* Makes all registers unknown, except those in `mask`. */
static void keep_known(struct walk_state *state, uint64_t mask)
{
	state->registers->known &= mask;
}

static void set_return(struct walk_state *state, uint64_t address)
{
	user_registers_set(state->registers, state->pc,
			   stack_strip_address(state->walk->machine, address));
}

/* ---- one step up by frame pointer ---- */

/*
 * On both machines, a frame begins with the caller's frame pointer and the return address. On
 * x86-64, the caller's stack pointer is right above them; on arm64 it is unknown.
 */
static enum stack_end step_by_frame(struct walk_state *state)
{
	uint64_t frame, next, address;

	if (!user_registers_has(state->registers, state->frame))
		return STACK_CUT_NO_RULE;
	frame = walk_value(state, state->frame);
	/* a leaf may use the register for anything; in a caller, 0 marks the outermost frame */
	if (!frame)
		return state->walk->exact ? STACK_CUT_NO_RULE : STACK_WHOLE;
	if (frame < walk_value(state, state->sp) || frame % 8)
		return STACK_CUT_NO_RULE;
	if (!read_stack(state, frame, &next) || !read_stack(state, frame + 8, &address))
		return STACK_CUT_COPY;
	set_return(state, address);
	user_registers_set(state->registers, state->frame, next);
	user_registers_set(state->registers, state->sp, frame + 16);
	keep_known(state, 1ull << state->pc | 1ull << state->frame |
				  (uint64_t)(state->walk->machine == UNWIND_X86_64) << state->sp);
	state->walk->frame_steps++;
	state->walk->exact = false;
	return GO_ON;
}

/* ---- one step up by rule ---- */

/*
 * Where the kernel saves registers: the offset from a trampoline's stack pointer, and the DWARF
 * number.
 */
static const struct {
	uint16_t at;
	uint8_t number;
} x86_64_context[] = {
	{ 40, 8 },  { 48, 9 },	{ 56, 10 }, { 64, 11 }, { 72, 12 },  { 80, 13 },
	{ 88, 14 }, { 96, 15 }, { 104, 5 }, { 112, 4 }, { 120, 6 },  { 128, 3 },
	{ 136, 1 }, { 144, 0 }, { 152, 2 }, { 160, 7 }, { 168, 16 },
};
/* siginfo has 128 bytes. In the ucontext behind it, the registers follow after 184 bytes. */
#define ARM64_CONTEXT (128 + 184)

static bool read_context_arm64(const struct walk_state *state, struct user_registers *registers)
{
	uint64_t begin = walk_value(state, state->sp) + ARM64_CONTEXT, value;

	/* x0 to x30, the stack pointer and the program counter */
	for (unsigned int i = 0; i <= ARM64_PC; i++) {
		if (!read_stack(state, begin + 8 * i, &value))
			return false;
		user_registers_set(registers, i, value);
	}
	return true;
}

static bool read_context_x86_64(const struct walk_state *state, struct user_registers *registers)
{
	uint64_t begin = walk_value(state, state->sp), value;

	for (size_t i = 0; i < ARRAY_SIZE(x86_64_context); i++) {
		if (!read_stack(state, begin + x86_64_context[i].at, &value))
			return false;
		user_registers_set(registers, x86_64_context[i].number, value);
	}
	return true;
}

/*
 * Steps to the interrupted code. Its stack may be another one, so the stack pointer may have any
 * value.
 */
static enum stack_end step_signal(struct walk_state *state)
{
	struct user_registers registers = { .known = 0 };

	if (!user_registers_has(state->registers, state->sp))
		return STACK_CUT_STRANGE;
	if (state->walk->machine == UNWIND_ARM64 ? !read_context_arm64(state, &registers)
						 : !read_context_x86_64(state, &registers))
		return STACK_CUT_COPY;
	*state->registers = registers;
	state->walk->signals++;
	state->walk->exact = true;
	return GO_ON;
}

static enum stack_end find_cfa(const struct walk_state *state, const struct unwind_rule *rule,
			       uint64_t *ret_cfa)
{
	unsigned int number = rule->kind == UNWIND_RULE_PLT ? state->sp : rule->number;
	uint64_t value, base;

	if (!user_registers_has(state->registers, number))
		return STACK_CUT_STRANGE;
	base = walk_value(state, number);
	if (rule->kind == UNWIND_RULE_PLT) {
		bool pushed = (walk_value(state, state->pc) & 15) >= (uint64_t)rule->offset;

		*ret_cfa = base + 8 + 8 * (uint64_t)pushed;
		return GO_ON;
	}
	base += (uint64_t)(int64_t)rule->offset;
	if (rule->kind == UNWIND_RULE_MEMORY) {
		if (!read_stack(state, base, &value))
			return STACK_CUT_COPY;
		base = value + (uint64_t)(int64_t)rule->offset2;
	}
	*ret_cfa = base;
	return GO_ON;
}

/* The caller's value of one register. */
struct caller_value {
	uint64_t value;
	bool known;
};

/*
 * Finds the caller's value of a register. Register `number` has the value unless the rule says
 * otherwise. A lost value stays unknown.
 */
static enum stack_end follow_place(const struct walk_state *state, uint64_t cfa, uint8_t place,
				   int16_t offset, unsigned int number,
				   struct caller_value *ret_value)
{
	uint64_t address = (uint64_t)(int64_t)offset;

	*ret_value = (struct caller_value){ .known = false };
	switch (place) {
	case UNWIND_PLACE_CFA:
		address += cfa;
		/* gcc's entries do not state that an epilogue has already popped the register */
		if (address < walk_value(state, state->sp) && number != state->pc)
			break;
		ret_value->known = read_stack(state, address, &ret_value->value);
		return ret_value->known ? GO_ON : STACK_CUT_COPY;
	case UNWIND_PLACE_FRAME:
		if (!user_registers_has(state->registers, state->frame))
			return GO_ON;
		address += walk_value(state, state->frame);
		ret_value->known = read_stack(state, address, &ret_value->value);
		return ret_value->known ? GO_ON : STACK_CUT_COPY;
	case UNWIND_PLACE_REGISTER:
		number = (unsigned int)offset;
		break;
	case UNWIND_PLACE_LOST:
		return GO_ON;
	}
	*ret_value = (struct caller_value){ walk_value(state, number),
					    user_registers_has(state->registers, number) };
	return GO_ON;
}

struct caller_values {
	struct caller_value pc, frame, base;
};

static enum stack_end follow_places(const struct walk_state *state, const struct unwind_rule *rule,
				    uint64_t cfa, struct caller_values *ret_values)
{
	bool is_x86 = state->walk->machine == UNWIND_X86_64;
	unsigned int link = is_x86 ? state->pc : ARM64_LR;
	enum stack_end end = follow_place(state, cfa, rule->return_place, rule->return_offset, link,
					  &ret_values->pc);

	if (end == GO_ON)
		end = follow_place(state, cfa, rule->frame_place, rule->frame_offset, state->frame,
				   &ret_values->frame);
	ret_values->base.known = false;
	if (end == GO_ON && is_x86)
		end = follow_place(state, cfa, rule->base_place, rule->base_offset, X86_64_RBX,
				   &ret_values->base);
	return end;
}

/*
 * Returns whether the caller's frame lies above this frame. A return pops at least the return
 * address, which only running code (`exact`) may have popped before.
 */
static bool is_progress(const struct walk_state *state, uint64_t cfa)
{
	uint64_t sp = walk_value(state, state->sp);

	return state->walk->exact ? cfa >= sp - 8 : cfa > sp;
}

/* Replaces the registers by the caller's registers. */
static void enter_caller(struct walk_state *state, uint64_t cfa, const struct caller_values *values)
{
	struct user_registers *registers = state->registers;

	registers->known = 0;
	user_registers_set(registers, state->sp, cfa);
	if (values->frame.known)
		user_registers_set(registers, state->frame, values->frame.value);
	if (values->base.known)
		user_registers_set(registers, X86_64_RBX, values->base.value);
	set_return(state, values->pc.value);
	state->walk->exact = false;
}

static enum stack_end step_by_rule(struct walk_state *state, const struct unwind_rule *rule)
{
	struct caller_values values;
	uint64_t cfa;
	enum stack_end end = find_cfa(state, rule, &cfa);

	if (end != GO_ON)
		return end;
	if (!is_progress(state, cfa))
		return STACK_CUT_LOOP;
	end = follow_places(state, rule, cfa, &values);
	if (end != GO_ON)
		return end;
	if (!values.pc.known)
		return STACK_CUT_STRANGE;
	enter_caller(state, cfa, &values);
	return GO_ON;
}

static enum stack_end step_up(struct walk_state *state, const struct unwind_rule *rule)
{
	switch (rule->kind) {
	case UNWIND_RULE_UNKNOWN:
		return step_by_frame(state);
	case UNWIND_RULE_END:
		return STACK_WHOLE;
	case UNWIND_RULE_SIGNAL:
		return step_signal(state);
	case UNWIND_RULE_STRANGE:
		return STACK_CUT_STRANGE;
	default:
		return step_by_rule(state, rule);
	}
}

/* ---- the walk ---- */

/*
 * Returns the address to look up. For a return address, this is the byte before, because a call may
 * be the last instruction of its function.
 */
static uint64_t lookup_address(const struct walk_state *state)
{
	return walk_value(state, state->pc) - !state->walk->exact;
}

static bool find_code(struct walk_state *state)
{
	uint64_t address = lookup_address(state);
	struct stack_code *code = &state->walk->code;

	if (address >= code->start && address < code->end)
		return true;
	return state->walk->find(state->walk->context, address, code) && address >= code->start &&
	       address < code->end;
}

static void find_rule(const struct walk_state *state, struct unwind_rule *ret_rule)
{
	const struct stack_code *code = &state->walk->code;
	uint64_t offset = lookup_address(state) - code->start + code->offset;

	if (code->kind != STACK_CODE_TABLE || code->table->machine != state->walk->machine)
		*ret_rule = (struct unwind_rule){ .kind = UNWIND_RULE_UNKNOWN };
	else if (state->walk->rules)
		rule_cache_find(state->walk->rules, code->table, offset, ret_rule);
	else
		unwind_table_find(code->table, offset, ret_rule);
}

static void prefetch_stack(const struct stack_walk *walk, uint64_t address)
{
	uint64_t at = address - walk->copy_address;

	if (at < walk->copy_size)
		__builtin_prefetch(walk->copy + at);
}

/* Prefetches the words that the step to the caller will read first. */
static void prefetch_frame(const struct walk_state *state)
{
	const struct unwind_rule *rule = &state->walk->rule;
	unsigned int number = rule->kind == UNWIND_RULE_UNKNOWN ? state->frame : rule->number;
	uint64_t address;

	if (rule->kind == UNWIND_RULE_SIGNAL || rule->kind == UNWIND_RULE_PLT)
		number = state->sp;
	if (!user_registers_has(state->registers, number))
		return;
	address = walk_value(state, number) + (uint64_t)(int64_t)rule->offset;
	prefetch_stack(state->walk, address);
	/* a return address and the registers saved below it may begin in the line before */
	if (address % CACHE_LINE < 3 * sizeof(uint64_t))
		prefetch_stack(state->walk, address - CACHE_LINE);
}

/*
 * Adds the frame that the walk has reached, and finds the rule that leads to its caller. Returns
 * the end if the walk ends here.
 */
static enum stack_end arrive(struct walk_state *state)
{
	struct stack_walk *walk = state->walk;
	bool is_mapped = find_code(state);

	if (!is_mapped && walk->count)
		return STACK_CUT_UNMAPPED;
	if (walk->count >= walk->max)
		return STACK_CUT_DEEP;
	walk->addresses[walk->count++] = walk_value(state, state->pc);
	if (!is_mapped)
		return STACK_CUT_UNMAPPED;
	if (walk->code.kind == STACK_CODE_WAITING)
		return STACK_CUT_WAITING;
	find_rule(state, &walk->rule);
	prefetch_frame(state);
	return GO_ON;
}

static struct walk_state state_of(struct stack_walk *walk)
{
	return (struct walk_state){
		.walk = walk,
		.registers = &walk->registers,
		.pc = user_register_pc(walk->machine),
		.sp = user_register_sp(walk->machine),
		.frame = user_register_frame(walk->machine),
	};
}

static bool goes_on(struct stack_walk *walk, enum stack_end end)
{
	if (end == GO_ON)
		return true;
	walk->end = end;
	return false;
}

bool stack_walk_begin(struct stack_walk *walk)
{
	struct walk_state state = state_of(walk);

	walk->count = walk->frame_steps = walk->signals = 0;
	walk->needed = 0;
	walk->exact = true;
	walk->code = (struct stack_code){ 0 };
	return goes_on(walk, arrive(&state));
}

bool stack_walk_step(struct stack_walk *walk)
{
	struct walk_state state = state_of(walk);
	enum stack_end end = step_up(&state, &walk->rule);

	/* the first frame of a thread returns to 0 */
	if (end == GO_ON && !walk_value(&state, state.pc))
		end = STACK_WHOLE;
	return goes_on(walk, end == GO_ON ? arrive(&state) : end);
}

void stack_walk_run(struct stack_walk *walk)
{
	bool is_going = stack_walk_begin(walk);

	while (is_going)
		is_going = stack_walk_step(walk);
}

bool stack_leaf_returns_by_link(const struct unwind_table *table, uint64_t offset)
{
	struct unwind_rule rule;

	unwind_table_find(table, offset, &rule);
	return table->machine == UNWIND_ARM64 && rule.kind == UNWIND_RULE_REGISTER &&
	       rule.return_place == UNWIND_PLACE_SAME;
}
