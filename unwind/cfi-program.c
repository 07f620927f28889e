// SPDX-License-Identifier: GPL-2.0-only
#include "unwind/cfi-program.h"

#include "base/cleanup.h"

/* How many states a program may remember. Compilers nest OP_REMEMBER at most two deep. */
#define REMEMBERED_MAX 16

/* Instructions with an operand in their low bits. */
#define OP_HIGH 0xc0
#define OP_LOW 0x3f
#define OP_ADVANCE 0x40
#define OP_OFFSET 0x80
#define OP_RESTORE 0xc0

enum {
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE1 = 0x02,
	OP_ADVANCE2 = 0x03,
	OP_ADVANCE4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER = 0x0a,
	OP_RECALL = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	/* arm64: toggles whether the return address is signed from here on */
	OP_NEGATE_RA_STATE_WITH_PC = 0x2c,
	OP_NEGATE_RA_STATE = 0x2d,
	OP_ARGS_SIZE = 0x2e,
	OP_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Operations in an expression. */
enum {
	EXPRESSION_DEREF = 0x06,
	EXPRESSION_PLUS_CONSTANT = 0x23,
	EXPRESSION_BREG0 = 0x70,
	EXPRESSION_BREG31 = 0x8f,
};

struct cfi_machine_state {
	struct cfi_run *run;
	struct reader reader;
	struct cfi_state state;
	struct cfi_state remembered[REMEMBERED_MAX];
	size_t remembered_count;
};

/* Returns the tracked register (enum cfi_tracked) with this number, or CFI_TRACKED. */
static unsigned int tracked_of(const struct cfi_run *run, uint64_t number)
{
	if (number == run->common->return_number)
		return CFI_RETURN;
	if (number == user_register_frame(run->machine))
		return CFI_FRAME;
	if (run->machine == UNWIND_X86_64 && number == X86_64_RBX)
		return CFI_BASE;
	if (number == user_register_sp(run->machine))
		return CFI_STACK;
	return CFI_TRACKED;
}

static void set_place(struct cfi_machine_state *m, uint64_t number, enum cfi_place_kind kind,
		      int64_t offset)
{
	unsigned int tracked = tracked_of(m->run, number);

	if (tracked < CFI_TRACKED)
		m->state.places[tracked] = (struct cfi_place){ kind, offset };
}

static void restore_place(struct cfi_machine_state *m, uint64_t number)
{
	unsigned int tracked = tracked_of(m->run, number);

	if (tracked < CFI_TRACKED)
		m->state.places[tracked] = m->run->initial->places[tracked];
}

/* Multiplies without signs, because hostile factors may overflow. */
static int64_t scaled(const struct cfi_machine_state *m, uint64_t value)
{
	return (int64_t)(value * (uint64_t)m->run->common->data_factor);
}

static void define_cfa(struct cfi_machine_state *m, uint64_t number, int64_t offset)
{
	m->state.kind = UNWIND_RULE_REGISTER;
	m->state.number = number;
	m->state.offset = offset;
	m->state.offset2 = 0;
}

/* Reads "register + offset" at the begin of an expression. */
static bool read_register(struct reader *expression, uint64_t *ret_number, int64_t *ret_offset)
{
	uint8_t op = reader_u8(expression);

	if (op < EXPRESSION_BREG0 || op > EXPRESSION_BREG31)
		return false;
	*ret_number = op - EXPRESSION_BREG0;
	*ret_offset = cfi_read_signed(expression);
	return !reader_failed(expression);
}

/*
 * Recognises the expression for a PLT. An entry of the PLT pushes its number with its second
 * instruction: CFA = rsp + 8 + 8 * ((rip & 15) >= N). ld and mold write exactly these bytes.
 */
static bool is_plt(const uint8_t *bytes, size_t size, int64_t *ret_push)
{
	static const uint8_t before[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a };
	static const uint8_t after[] = { 0x2a, 0x33, 0x24, 0x22 };

	if (size != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(bytes, before, sizeof(before)) != 0 ||
	    memcmp(bytes + sizeof(before) + 1, after, sizeof(after)) != 0 ||
	    bytes[sizeof(before)] < 0x30 || bytes[sizeof(before)] > 0x3f)
		return false;
	*ret_push = bytes[sizeof(before)] - 0x30;
	return true;
}

/*
 * Evaluates the expressions that compilers, linkers and C libraries write. Any other expression
 * makes the state STRANGE.
 */
static void define_cfa_by_expression(struct cfi_machine_state *m, const uint8_t *bytes, size_t size)
{
	struct cfi_state *state = &m->state;
	struct reader expression;

	state->kind = UNWIND_RULE_STRANGE;
	if (m->run->machine == UNWIND_X86_64 && is_plt(bytes, size, &state->offset)) {
		state->kind = UNWIND_RULE_PLT;
		return;
	}
	reader_init(&expression, bytes, size);
	if (!read_register(&expression, &state->number, &state->offset))
		return;
	state->offset2 = 0;
	if (!reader_left(&expression)) {
		state->kind = UNWIND_RULE_REGISTER;
		return;
	}
	if (reader_u8(&expression) != EXPRESSION_DEREF)
		return;
	if (reader_left(&expression) && reader_u8(&expression) == EXPRESSION_PLUS_CONSTANT)
		state->offset2 = (int64_t)reader_varint(&expression);
	else if (reader_left(&expression))
		return;
	if (!reader_failed(&expression) && !reader_left(&expression))
		state->kind = UNWIND_RULE_MEMORY;
}

/* In functions that align the stack anew, gcc saves registers relative to the frame pointer. */
static void place_by_expression(struct cfi_machine_state *m, uint64_t number, const uint8_t *bytes,
				size_t size)
{
	struct reader expression;
	uint64_t base;
	int64_t offset;

	reader_init(&expression, bytes, size);
	if (read_register(&expression, &base, &offset) && !reader_left(&expression) &&
	    base == user_register_frame(m->run->machine))
		set_place(m, number, CFI_PLACE_FRAME, offset);
	else
		set_place(m, number, CFI_PLACE_STRANGE, 0);
}

static void run_expression(struct cfi_machine_state *m, uint8_t op)
{
	uint64_t number = op == OP_DEF_CFA_EXPRESSION ? 0 : reader_varint(&m->reader);
	uint64_t size = reader_varint(&m->reader);
	const uint8_t *bytes = reader_take(&m->reader, size);

	if (!bytes)
		return;
	if (op == OP_DEF_CFA_EXPRESSION)
		define_cfa_by_expression(m, bytes, size);
	else if (op == OP_EXPRESSION)
		place_by_expression(m, number, bytes, size);
	else
		set_place(m, number, CFI_PLACE_STRANGE, 0);
}

/* ---- instructions ---- */

/*
 * Emits the present state, which holds up to `address`, and moves to `address`. Returns 0, 1 at the
 * end of the function, or an error.
 */
static int advance(struct cfi_machine_state *m, uint64_t address)
{
	struct cfi_run *run = m->run;
	int r;

	if (!run->emit)
		return 0;
	if (address < run->address) {
		reader_fail(&m->reader);
		return 0;
	}
	if (address == run->address)
		return 0;
	r = run->emit(run->context, run->address, &m->state);
	run->address = address;
	return r < 0 ? r : address >= run->end;
}

static int advance_by(struct cfi_machine_state *m, uint64_t units)
{
	uint64_t distance = units * m->run->common->code_factor;

	/* an overflow ends the function, too */
	if (distance > m->run->end - m->run->address)
		distance = m->run->end - m->run->address;
	return advance(m, m->run->address + distance);
}

static void remember(struct cfi_machine_state *m)
{
	if (m->remembered_count == REMEMBERED_MAX)
		reader_fail(&m->reader);
	else
		m->remembered[m->remembered_count++] = m->state;
}

static void recall(struct cfi_machine_state *m)
{
	if (!m->remembered_count)
		reader_fail(&m->reader);
	else
		m->state = m->remembered[--m->remembered_count];
}

/* Runs an instruction that states where a register is. Returns false for another instruction. */
static bool run_place(struct cfi_machine_state *m, uint8_t op)
{
	uint64_t number;

	switch (op) {
	case OP_OFFSET_EXTENDED:
		number = reader_varint(&m->reader);
		set_place(m, number, CFI_PLACE_CFA, scaled(m, reader_varint(&m->reader)));
		return true;
	case OP_OFFSET_EXTENDED_SF:
		number = reader_varint(&m->reader);
		set_place(m, number, CFI_PLACE_CFA, scaled(m, cfi_read_signed(&m->reader)));
		return true;
	case OP_NEGATIVE_OFFSET_EXTENDED:
		number = reader_varint(&m->reader);
		set_place(m, number, CFI_PLACE_CFA, scaled(m, -reader_varint(&m->reader)));
		return true;
	case OP_RESTORE_EXTENDED:
		restore_place(m, reader_varint(&m->reader));
		return true;
	case OP_UNDEFINED:
		set_place(m, reader_varint(&m->reader), CFI_PLACE_UNDEFINED, 0);
		return true;
	case OP_SAME_VALUE:
		set_place(m, reader_varint(&m->reader), CFI_PLACE_SAME, 0);
		return true;
	case OP_REGISTER:
		number = reader_varint(&m->reader);
		set_place(m, number, CFI_PLACE_REGISTER, (int64_t)reader_varint(&m->reader));
		return true;
	case OP_VAL_OFFSET:
	case OP_VAL_OFFSET_SF:
		set_place(m, reader_varint(&m->reader), CFI_PLACE_STRANGE, 0);
		cfi_read_signed(&m->reader);
		return true;
	default:
		return false;
	}
}

/*
 * Runs an instruction that sets the CFA or has an expression. Returns false for any other
 * instruction.
 */
static bool run_cfa(struct cfi_machine_state *m, uint8_t op)
{
	uint64_t number;

	switch (op) {
	case OP_DEF_CFA:
		number = reader_varint(&m->reader);
		define_cfa(m, number, (int64_t)reader_varint(&m->reader));
		return true;
	case OP_DEF_CFA_SF:
		number = reader_varint(&m->reader);
		define_cfa(m, number, scaled(m, cfi_read_signed(&m->reader)));
		return true;
	case OP_DEF_CFA_REGISTER:
		define_cfa(m, reader_varint(&m->reader), m->state.offset);
		return true;
	case OP_DEF_CFA_OFFSET:
		m->state.offset = (int64_t)reader_varint(&m->reader);
		return true;
	case OP_DEF_CFA_OFFSET_SF:
		m->state.offset = scaled(m, cfi_read_signed(&m->reader));
		return true;
	case OP_DEF_CFA_EXPRESSION:
	case OP_EXPRESSION:
	case OP_VAL_EXPRESSION:
		run_expression(m, op);
		return true;
	default:
		return false;
	}
}

static void run_other(struct cfi_machine_state *m, uint8_t op)
{
	switch (op) {
	case OP_NOP:
		return;
	case OP_REMEMBER:
		remember(m);
		return;
	case OP_RECALL:
		recall(m);
		return;
	case OP_NEGATE_RA_STATE_WITH_PC:
	case OP_NEGATE_RA_STATE:
		/* the walk strips the signature of every address */
		return;
	case OP_ARGS_SIZE:
		reader_varint(&m->reader);
		return;
	default:
		reader_fail(&m->reader);
	}
}

/* Returns 0, 1 at the end of the function, or an error. */
static int run_instruction(struct cfi_machine_state *m)
{
	uint8_t op = reader_u8(&m->reader), low = op & OP_LOW;

	switch (op & OP_HIGH) {
	case OP_ADVANCE:
		return advance_by(m, low);
	case OP_OFFSET:
		set_place(m, low, CFI_PLACE_CFA, scaled(m, reader_varint(&m->reader)));
		return 0;
	case OP_RESTORE:
		restore_place(m, low);
		return 0;
	}
	switch (op) {
	case OP_SET_LOC:
		return advance(
			m, cfi_read_address(m->run->entries, &m->reader, m->run->common->encoding));
	case OP_ADVANCE1:
		return advance_by(m, reader_u8(&m->reader));
	case OP_ADVANCE2:
		return advance_by(m, reader_u16(&m->reader));
	case OP_ADVANCE4:
		return advance_by(m, reader_u32(&m->reader));
	}
	if (!run_place(m, op) && !run_cfa(m, op))
		run_other(m, op);
	return 0;
}

static int run_all(struct cfi_machine_state *m)
{
	int r = 0;

	while (r == 0 && !reader_failed(&m->reader) && reader_left(&m->reader))
		r = run_instruction(m);
	return r;
}

struct cfi_state cfi_run_common(const struct cfi_entries *entries, const struct cfi_common *common,
				enum unwind_machine machine)
{
	const struct cfi_state none = { .kind = UNWIND_RULE_UNKNOWN };
	struct cfi_run run = {
		.entries = entries, .common = common, .machine = machine, .initial = &none
	};
	struct cfi_machine_state m = {
		.run = &run,
		.reader = cfi_program(entries, common->program, common->program_end),
	};

	run_all(&m);
	if (reader_failed(&m.reader))
		m.state.kind = UNWIND_RULE_STRANGE;
	return m.state;
}

int cfi_run_function(struct cfi_run *run, const struct cfi_function *function)
{
	const struct cfi_state unknown = { .kind = UNWIND_RULE_UNKNOWN };
	struct cfi_machine_state m;
	int r;

	m.run = run;
	m.reader = cfi_program(run->entries, function->program, function->program_end);
	m.state = *run->initial;
	m.remembered_count = 0;
	r = run_all(&m);
	if (r != 0)
		return r < 0 ? r : 0;
	return run->emit(run->context, run->address,
			 reader_failed(&m.reader) ? &unknown : &m.state);
}

/* ---- rules ---- */

static bool fits(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

static bool fits_place(int64_t value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

/* Returns UNWIND_PLACE_LOST for a place that a rule cannot state. */
static uint8_t place_of(const struct cfi_place *place, int16_t *ret_offset)
{
	*ret_offset = 0;
	switch (place->kind) {
	case CFI_PLACE_UNSAID:
	case CFI_PLACE_SAME:
		return UNWIND_PLACE_SAME;
	case CFI_PLACE_CFA:
	case CFI_PLACE_FRAME:
		if (!fits_place(place->offset))
			return UNWIND_PLACE_LOST;
		*ret_offset = (int16_t)place->offset;
		return place->kind == CFI_PLACE_CFA ? UNWIND_PLACE_CFA : UNWIND_PLACE_FRAME;
	case CFI_PLACE_REGISTER:
		if (place->offset < 0 || place->offset >= USER_REGISTERS)
			return UNWIND_PLACE_LOST;
		*ret_offset = (int16_t)place->offset;
		return UNWIND_PLACE_REGISTER;
	default:
		return UNWIND_PLACE_LOST;
	}
}

/*
 * Returns whether the code is a signal trampoline. On x86-64, the entry of a trampoline reads the
 * CFA from the saved registers, so its kind is not REGISTER. On arm64, the vdso's entry states
 * another CFA, so the mark of the common entry decides alone.
 */
static bool is_signal(const struct cfi_state *state, const struct cfi_common *common,
		      enum unwind_machine machine)
{
	return common->signal && (machine == UNWIND_ARM64 || state->kind != UNWIND_RULE_REGISTER);
}

/*
 * Returns whether a rule cannot state the state. On x86-64, an entry must say where the return
 * address is.
 */
static bool is_strange(const struct cfi_state *state, const struct unwind_rule *rule,
		       enum unwind_machine machine)
{
	if (state->places[CFI_STACK].kind > CFI_PLACE_SAME)
		return true;
	return state->number >= USER_REGISTERS || !fits(state->offset) || !fits(state->offset2) ||
	       rule->return_place == UNWIND_PLACE_LOST ||
	       (machine == UNWIND_X86_64 && rule->return_place == UNWIND_PLACE_SAME);
}

void cfi_state_rule(const struct cfi_state *state, const struct cfi_common *common,
		    enum unwind_machine machine, struct unwind_rule *ret_rule)
{
	struct unwind_rule rule = { .kind = state->kind };

	*ret_rule = rule;
	if (is_signal(state, common, machine)) {
		ret_rule->kind = UNWIND_RULE_SIGNAL;
		return;
	}
	if (state->kind == UNWIND_RULE_UNKNOWN)
		return;
	if (state->places[CFI_RETURN].kind == CFI_PLACE_UNDEFINED) {
		ret_rule->kind = UNWIND_RULE_END;
		return;
	}
	rule.return_place = place_of(&state->places[CFI_RETURN], &rule.return_offset);
	rule.frame_place = place_of(&state->places[CFI_FRAME], &rule.frame_offset);
	rule.base_place = place_of(&state->places[CFI_BASE], &rule.base_offset);
	if (state->kind == UNWIND_RULE_STRANGE || is_strange(state, &rule, machine)) {
		ret_rule->kind = UNWIND_RULE_STRANGE;
		return;
	}
	rule.number = (uint8_t)state->number;
	rule.offset = (int32_t)state->offset;
	rule.offset2 = (int32_t)state->offset2;
	*ret_rule = rule;
}
