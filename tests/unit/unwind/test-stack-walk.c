// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks of stacks that the test writes word by word, through functions whose rules it knows. With
 * PERFTAPE_WRITE_UNWIND=DIR, the test also writes inputs of the fuzz target to DIR. The files in
 * tests/fuzz/corpus/unwind-walk were made in this way.
 */
#include "tests/check.h"

#include <stdlib.h>

#include "base/file.h"
#include "tests/unwinds.h"
#include "unwind/stack-walk.h"

/* The file is mapped here from UNWINDS_OFFSET on, and generated code lies behind it. */
#define MAPPED 0x555500000000ull
#define BARE (MAPPED + UNWINDS_SIZE)
#define WAITING (BARE + 0x1000)
#define STACK 0x7ffc00001000ull
#define WORDS 96

/* Offsets of functions in the code. */
enum {
	/*
	 * Just below the start of each function, so that a return address is inside the function.
	 */
	PLAIN = 0x100, /* CFA = rsp + 16 */
	WITH_FRAME = 0x200, /* CFA = rbp + 16, rbp at CFA - 16 */
	POPPED = 0x300, /* CFA = rsp + 8, rbp said to be at CFA - 16 */
	BY_RBX = 0x400, /* CFA = rbx + 16, rbx at CFA - 16 */
	SAVES_RBX = 0x500, /* CFA = rsp + 24, rbx at CFA - 16 */
	BY_R10 = 0x600, /* CFA = *(r10 - 8) */
	VFORK = 0x700, /* CFA = rsp, return address in rdi */
	TRAMPOLINE = 0x800, /* signal */
	PLT = 0x900,
	OUTERMOST = 0xa00,
	STRANGE = 0xb00,
	LOOP = 0xc00, /* CFA = rsp - 16 */
	GAP = 0xd00, /* no entry */
};

struct scene {
	struct unwinds_frame frame;
	struct buffer bytes;
	struct unwind_table table;
	uint64_t words[WORDS];
	uint64_t addresses[STACK_WALK_FRAMES];
	struct stack_walk walk;
};

static void scene_done(struct scene *scene)
{
	unwinds_frame_done(&scene->frame);
	buffer_done(&scene->bytes);
}

static bool find(void *context, uint64_t address, struct stack_code *ret_code)
{
	struct scene *scene = context;

	*ret_code = (struct stack_code){ STACK_CODE_TABLE, MAPPED, BARE, UNWINDS_OFFSET,
					 &scene->table };
	if (address >= BARE)
		*ret_code = (struct stack_code){ STACK_CODE_BARE, BARE, WAITING, 0, NULL };
	if (address >= WAITING)
		*ret_code = (struct stack_code){ STACK_CODE_WAITING, WAITING, WAITING + 0x1000, 0,
						 NULL };
	return address >= MAPPED && address < WAITING + 0x1000;
}

static void add_functions_x86_64(struct unwinds_frame *frame)
{
	unwinds_common_x86_64(frame);
	unwinds_function(frame, PLAIN, 0x80, UNWINDS_PROGRAM(0x0e, 16));
	unwinds_function(frame, WITH_FRAME, 0x80, UNWINDS_PROGRAM(0x0c, 6, 16, 0x86, 2));
	unwinds_function(frame, POPPED, 0x80, UNWINDS_PROGRAM(0x86, 2));
	unwinds_function(frame, BY_RBX, 0x80, UNWINDS_PROGRAM(0x0c, 3, 16, 0x83, 2));
	unwinds_function(frame, SAVES_RBX, 0x80, UNWINDS_PROGRAM(0x0e, 24, 0x83, 2));
	unwinds_function(frame, BY_R10, 0x80, UNWINDS_PROGRAM(0x0f, 3, 0x7a, 0x78, 0x06));
	unwinds_function(frame, VFORK, 0x80, UNWINDS_PROGRAM(0x0e, 0, 0x09, 16, 5));
	unwinds_function(frame, PLT, 0x80,
			 UNWINDS_PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
					 0x24, 0x22));
	unwinds_function(frame, OUTERMOST, 0x80, UNWINDS_PROGRAM(0x07, 16));
	unwinds_function(frame, STRANGE, 0x80, UNWINDS_PROGRAM(0x0f, 1, 0x31));
	unwinds_function(frame, LOOP, 0x80, UNWINDS_PROGRAM(0x13, 2));
	unwinds_common(frame, "zRS", 16, UNWINDS_PROGRAM(0x90, 1));
	unwinds_function(frame, TRAMPOLINE - 1, 0x10,
			 UNWINDS_PROGRAM(0x0f, 4, 0x77, 0xa0, 0x01, 0x06));
}

static void prepare(struct scene *scene, enum unwind_machine machine)
{
	unwinds_make(&scene->frame, machine, &scene->bytes, &scene->table);
	scene->walk = (struct stack_walk){
		.machine = machine,
		.copy = (const uint8_t *)scene->words,
		.copy_size = sizeof(scene->words),
		.copy_address = STACK,
		.find = find,
		.context = scene,
		.addresses = scene->addresses,
		.max = STACK_WALK_FRAMES,
	};
}

static void set(struct scene *scene, unsigned int number, uint64_t value)
{
	user_registers_set(&scene->walk.registers, number, value);
}

/*
 * Begins a walk with the leaf at an offset in the code. The test adds the words of the callers. The
 * scene must be zeroed.
 */
static void begin(struct scene *scene, uint64_t at)
{
	add_functions_x86_64(&scene->frame);
	prepare(scene, UNWIND_X86_64);
	set(scene, X86_64_RIP, MAPPED + at);
	set(scene, X86_64_RSP, STACK);
}

/* Returns the return address of a call in a function. */
static uint64_t after_call(uint64_t function)
{
	return MAPPED + function + 0x10;
}

static uint64_t stack_at(size_t word)
{
	return STACK + 8 * word;
}

/* The layout is that of fuzz-unwind-walk.c. */
static void write_input(const struct scene *scene)
{
	static unsigned int count;
	const char *dir = getenv("PERFTAPE_WRITE_UNWIND");
	_cleanup_(buffer_done) struct buffer input = { 0 };
	char name[32];

	if (!dir)
		return;
	buffer_u8(&input, WORDS);
	buffer_u16(&input, scene->bytes.size);
	buffer_bytes(&input, scene->bytes.data, scene->bytes.size);
	buffer_bytes(&input, scene->words, sizeof(scene->words));
	for (size_t i = 0; i < USER_REGISTERS; i++)
		buffer_u8(&input, (scene->walk.registers.values[i] - STACK) / 8);
	buffer_u16(&input, scene->walk.registers.values[user_register_pc(scene->walk.machine)]);
	snprintf(name, sizeof(name), "walk-%u", ++count);
	CHECK_EQ(file_replace(dir, name, input.data, input.size), 0);
}

static void check_result(const struct scene *scene, enum stack_end end, const uint64_t *expected,
			 size_t count)
{
	CHECK_STR(stack_end_text(scene->walk.end), stack_end_text(end));
	CHECK_EQ(scene->walk.count, count);
	for (size_t i = 0; i < count; i++)
		CHECK_EQ(scene->addresses[i], expected[i]);
}

/*
 * Walks at once; then in steps, with a cache of rules that is empty at first and knows all rules at
 * the second walk. The walk that is checked last leaves its results in the scene.
 */
static void check_walk(struct scene *scene, enum stack_end end, const uint64_t *expected,
		       size_t count)
{
	_cleanup_free_ struct rule_cache *rules = calloc(1, sizeof(*rules));
	const struct user_registers registers = scene->walk.registers;

	CHECK(rules);
	write_input(scene);
	stack_walk_run(&scene->walk);
	check_result(scene, end, expected, count);
	for (int turn = 0; turn < 2; turn++) {
		bool is_going;

		scene->walk.registers = registers;
		scene->walk.rules = rules;
		scene->table.number = 7;
		for (is_going = stack_walk_begin(&scene->walk); is_going;)
			is_going = stack_walk_step(&scene->walk);
		check_result(scene, end, expected, count);
	}
	scene->walk.rules = NULL;
}

#define CHECK_WALK(scene, end, ...)                                           \
	do {                                                                  \
		const uint64_t _expected[] = { __VA_ARGS__ };                 \
		check_walk((scene), (end), _expected, ARRAY_SIZE(_expected)); \
	} while (0)

static void test_whole(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, PLAIN);
	set(&scene, X86_64_RBP, stack_at(4));
	scene.words[1] = after_call(WITH_FRAME);
	scene.words[4] = 0;
	scene.words[5] = after_call(OUTERMOST);
	CHECK_WALK(&scene, STACK_WHOLE, MAPPED + PLAIN, after_call(WITH_FRAME),
		   after_call(OUTERMOST));
	CHECK_EQ(scene.walk.needed, 48);
	CHECK_EQ(scene.walk.frame_steps, 0);
}

/* A new thread returns to 0. */
static void test_returns_to_zero(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, PLAIN);
	scene.words[1] = after_call(PLAIN);
	CHECK_WALK(&scene, STACK_WHOLE, MAPPED + PLAIN, after_call(PLAIN));
}

/* The last instruction of a function is a call, so the return address is in the next function. */
static void test_last_call(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, PLAIN);
	scene.words[1] = MAPPED + PLAIN + 0x80;
	CHECK_WALK(&scene, STACK_WHOLE, MAPPED + PLAIN, MAPPED + PLAIN + 0x80);
}

/* gcc's entry states that RBP is still on the stack after the epilogue has popped it. */
static void test_popped(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, POPPED);
	set(&scene, X86_64_RBP, stack_at(4));
	scene.words[0] = after_call(WITH_FRAME);
	scene.words[5] = after_call(OUTERMOST);
	CHECK_WALK(&scene, STACK_WHOLE, MAPPED + POPPED, after_call(WITH_FRAME),
		   after_call(OUTERMOST));
}

/* _dl_runtime_resolve() has its CFA on RBX, which the leaf above it has saved. */
static void test_rbx(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, SAVES_RBX);
	set(&scene, X86_64_RBX, 0xbad);
	scene.words[1] = stack_at(8);
	scene.words[2] = after_call(BY_RBX);
	scene.words[9] = after_call(OUTERMOST);
	CHECK_WALK(&scene, STACK_WHOLE, MAPPED + SAVES_RBX, after_call(BY_RBX),
		   after_call(OUTERMOST));
}

/* All registers of the leaf are known, but not those of its caller. */
static void test_leaf_registers(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, BY_R10);
	set(&scene, 10, stack_at(2));
	scene.words[1] = stack_at(6);
	scene.words[5] = after_call(BY_R10);
	CHECK_WALK(&scene, STACK_CUT_STRANGE, MAPPED + BY_R10, after_call(BY_R10));
}

static void test_vfork(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, VFORK);
	set(&scene, 5, after_call(PLAIN));
	scene.words[1] = after_call(OUTERMOST);
	CHECK_WALK(&scene, STACK_WHOLE, MAPPED + VFORK, after_call(PLAIN), after_call(OUTERMOST));
}

/* The interrupted instruction is the first of its function, and uses a register of any kind. */
static void test_signal(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };
	uint64_t *context = scene.words + 2;

	begin(&scene, PLAIN);
	scene.words[1] = MAPPED + TRAMPOLINE;
	context[168 / 8] = MAPPED + BY_R10;
	context[160 / 8] = stack_at(40);
	context[56 / 8] = stack_at(42);
	scene.words[41] = stack_at(46);
	scene.words[45] = after_call(OUTERMOST);
	CHECK_WALK(&scene, STACK_WHOLE, MAPPED + PLAIN, MAPPED + TRAMPOLINE, MAPPED + BY_R10,
		   after_call(OUTERMOST));
	CHECK_EQ(scene.walk.signals, 1);
}

/* The interrupted code ran on another stack, which the copy lacks. */
static void test_other_stack(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };
	uint64_t *context = scene.words + 2;

	begin(&scene, PLAIN);
	scene.words[1] = MAPPED + TRAMPOLINE;
	context[168 / 8] = MAPPED + PLAIN;
	context[160 / 8] = 0x7fff00000000;
	CHECK_WALK(&scene, STACK_CUT_COPY, MAPPED + PLAIN, MAPPED + TRAMPOLINE, MAPPED + PLAIN);
}

/* Before and after the push of an entry of the PLT. */
static void test_plt(void)
{
	for (unsigned int pushed = 0; pushed < 2; pushed++) {
		_cleanup_(scene_done) struct scene scene = { 0 };
		uint64_t at = PLT + 16 + (pushed ? 11 : 6);

		begin(&scene, at);
		scene.words[0] = pushed ? 3 : after_call(OUTERMOST);
		scene.words[1] = after_call(OUTERMOST);
		CHECK_WALK(&scene, STACK_WHOLE, MAPPED + at, after_call(OUTERMOST));
	}
}

static void test_cuts(void)
{
	static const struct {
		uint64_t caller;
		enum stack_end end;
		size_t count;
	} cuts[] = {
		{ 0x1234, STACK_CUT_UNMAPPED, 1 },
		{ WAITING + 0x10, STACK_CUT_WAITING, 2 },
		{ MAPPED + STRANGE + 0x10, STACK_CUT_STRANGE, 2 },
		{ MAPPED + LOOP + 0x10, STACK_CUT_LOOP, 2 },
		{ MAPPED + GAP, STACK_CUT_NO_RULE, 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		_cleanup_(scene_done) struct scene scene = { 0 };
		const uint64_t expected[] = { MAPPED + PLAIN, cuts[i].caller };

		begin(&scene, PLAIN);
		set(&scene, X86_64_RBP, 7);
		scene.words[1] = cuts[i].caller;
		check_walk(&scene, cuts[i].end, expected, cuts[i].count);
	}
}

/* The walk keeps the first address wherever it lies. */
static void test_unmapped_leaf(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, 0);
	set(&scene, X86_64_RIP, 0x1234);
	CHECK_WALK(&scene, STACK_CUT_UNMAPPED, 0x1234);
}

/* The copy ends before the last word that the walk needs. `needed` states the necessary size. */
static void test_copy_ends(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, PLAIN);
	scene.words[1] = after_call(PLAIN);
	scene.walk.copy_size = 31;
	CHECK_WALK(&scene, STACK_CUT_COPY, MAPPED + PLAIN, after_call(PLAIN));
	CHECK_EQ(scene.walk.needed, 32);
}

static void test_deep(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, PLAIN);
	for (size_t i = 1; i < WORDS; i += 2)
		scene.words[i] = after_call(PLAIN);
	scene.walk.max = 3;
	CHECK_WALK(&scene, STACK_CUT_DEEP, MAPPED + PLAIN, after_call(PLAIN), after_call(PLAIN));
}

/* Generated code keeps frame pointers; the outermost one is 0. */
static void test_frame_pointers(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, PLAIN);
	set(&scene, X86_64_RBP, stack_at(4));
	scene.words[1] = BARE + 0x10;
	scene.words[4] = stack_at(8);
	scene.words[5] = BARE + 0x20;
	scene.words[8] = 0;
	scene.words[9] = BARE + 0x30;
	CHECK_WALK(&scene, STACK_WHOLE, MAPPED + PLAIN, BARE + 0x10, BARE + 0x20, BARE + 0x30);
	CHECK_EQ(scene.walk.frame_steps, 2);
}

/* A leaf may use the register for a number, so a 0 does not end the stack. */
static void test_bare_leaf(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, 0);
	set(&scene, X86_64_RIP, BARE);
	set(&scene, X86_64_RBP, 0);
	CHECK_WALK(&scene, STACK_CUT_NO_RULE, BARE);
}

/* The interrupted thread runs generated code, and the sample lacks the frame pointer. */
static void test_bare_without_frame(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, 0);
	set(&scene, X86_64_RIP, BARE);
	CHECK_WALK(&scene, STACK_CUT_NO_RULE, BARE);
	CHECK_EQ(scene.walk.needed, 0);
}

/* After code without rules, only the frame pointer is known: RBX may be anything. */
static void test_unknown_after_bare(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin(&scene, 0);
	set(&scene, X86_64_RIP, BARE);
	set(&scene, X86_64_RBX, stack_at(8));
	set(&scene, X86_64_RBP, stack_at(2));
	scene.words[3] = after_call(BY_RBX);
	CHECK_WALK(&scene, STACK_CUT_STRANGE, BARE, after_call(BY_RBX));
}

/* ---- arm64 ---- */

#define SIGNED 0x0040000000000000ull

static void begin_arm64(struct scene *scene, uint64_t at)
{
	unwinds_common_arm64(&scene->frame);
	unwinds_function(&scene->frame, PLAIN, 0x80, UNWINDS_PROGRAM(0));
	/* CFA = sp + 32, x29 at CFA - 32, x30 at CFA - 24 */
	unwinds_function(&scene->frame, WITH_FRAME, 0x80,
			 UNWINDS_PROGRAM(0x0e, 32, 0x9d, 4, 0x9e, 3));
	unwinds_function(&scene->frame, OUTERMOST, 0x80, UNWINDS_PROGRAM(0x07, 30));
	unwinds_common(&scene->frame, "zRS", 30, UNWINDS_PROGRAM(0x0c, 29, 0));
	unwinds_function(&scene->frame, TRAMPOLINE - 4, 0x10, UNWINDS_PROGRAM(0x9e, 1));
	prepare(scene, UNWIND_ARM64);
	set(scene, ARM64_PC, MAPPED + at);
	set(scene, ARM64_SP, STACK);
}

/* A leaf has its return address in the link register, which may be signed. */
static void test_link(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin_arm64(&scene, PLAIN);
	set(&scene, ARM64_LR, SIGNED | after_call(WITH_FRAME));
	scene.words[1] = SIGNED | after_call(OUTERMOST);
	CHECK_WALK(&scene, STACK_WHOLE, MAPPED + PLAIN, after_call(WITH_FRAME),
		   after_call(OUTERMOST));
	CHECK(stack_leaf_returns_by_link(&scene.table, UNWINDS_OFFSET + PLAIN));
	CHECK(!stack_leaf_returns_by_link(&scene.table, UNWINDS_OFFSET + WITH_FRAME));
	CHECK(!stack_leaf_returns_by_link(&scene.table, UNWINDS_OFFSET + OUTERMOST));
}

/*
 * Only a leaf can have its return address in the link register. The walk ends at a caller whose
 * table claims the same.
 */
static void test_link_of_caller(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };

	begin_arm64(&scene, PLAIN);
	set(&scene, ARM64_LR, after_call(PLAIN));
	stack_walk_run(&scene.walk);
	CHECK(scene.walk.end != STACK_WHOLE);
	CHECK_EQ(scene.walk.count, 2);
}

/* Registers lie 312 bytes above the stack pointer of the trampoline. */
static void test_signal_arm64(void)
{
	_cleanup_(scene_done) struct scene scene = { 0 };
	uint64_t *registers = scene.words + 4 + 312 / 8;

	begin_arm64(&scene, WITH_FRAME);
	scene.words[1] = MAPPED + TRAMPOLINE;
	registers[ARM64_LR] = after_call(OUTERMOST);
	registers[ARM64_SP] = stack_at(90);
	registers[ARM64_PC] = MAPPED + PLAIN;
	CHECK_WALK(&scene, STACK_WHOLE, MAPPED + WITH_FRAME, MAPPED + TRAMPOLINE, MAPPED + PLAIN,
		   after_call(OUTERMOST));
}

static void test_registers_from_perf(void)
{
	struct user_registers registers;
	uint64_t words[33];

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = 100 + i;
	/* bx, sp, ip, flags, r15 */
	CHECK(user_registers_from_perf(UNWIND_X86_64, 0x800382, words, 5 * 8, &registers));
	CHECK_EQ(registers.values[X86_64_RBX], 100);
	CHECK_EQ(registers.values[X86_64_RSP], 101);
	CHECK_EQ(registers.values[X86_64_RIP], 102);
	CHECK_EQ(registers.values[15], 104);
	CHECK_EQ(registers.known, 1 << 3 | 1 << 7 | 1 << 16 | 1 << 15);
	CHECK(!user_registers_from_perf(UNWIND_X86_64, 0x800382, words, 4 * 8, &registers));
	CHECK(!user_registers_from_perf(UNWIND_X86_64, 0x2, words, 8, &registers));
	CHECK(user_registers_from_perf(UNWIND_ARM64, UNWIND_PERF_MASK_ARM64, words, sizeof(words),
				       &registers));
	CHECK_EQ(registers.values[ARM64_PC], 132);
	CHECK_EQ(registers.known, UNWIND_PERF_MASK_ARM64);
}

CHECK_MAIN({ "a whole stack", test_whole },
	   { "a return address of 0 ends a stack", test_returns_to_zero },
	   { "a call at the end of a function", test_last_call },
	   { "a register that was popped already", test_popped }, { "a CFA on RBX", test_rbx },
	   { "only a leaf has all registers", test_leaf_registers },
	   { "a return address in a register", test_vfork }, { "a signal", test_signal },
	   { "a signal on another stack", test_other_stack }, { "an entry of the PLT", test_plt },
	   { "each reason to cut a stack", test_cuts },
	   { "a leaf outside of all mappings", test_unmapped_leaf },
	   { "a copy that ends too early", test_copy_ends },
	   { "a stack that is too deep", test_deep },
	   { "frame pointers of generated code", test_frame_pointers },
	   { "a leaf without a rule and without a frame pointer", test_bare_leaf },
	   { "a leaf without a rule in a sample without the register", test_bare_without_frame },
	   { "registers are unknown after code without rules", test_unknown_after_bare },
	   { "arm64: a leaf's return address in the link register", test_link },
	   { "arm64: only a leaf has a link register", test_link_of_caller },
	   { "arm64: a signal", test_signal_arm64 },
	   { "registers of a sample", test_registers_from_perf })
