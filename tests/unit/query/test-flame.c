// SPDX-License-Identifier: GPL-2.0-only
/* The tree of a flame graph, and its file; what a browser makes of it is seen in tests/browser/. */
#include "tests/check.h"

#include "draw/flamegraph.h"
#include "tests/golden.h"
#include "tests/hostile.h"

static struct folded *fold(struct tape *tape)
{
	struct folded *folded;

	CHECK_EQ(folded_new(&folded), 0);
	folded->kinds = true;
	CHECK_EQ(folded_add_samples(folded, tape, FOLDED_SAMPLES), 0);
	tape_free(tape);
	return folded;
}

/* So many samples of a stack. */
static void add(struct tape *tape, const char *comm, uint32_t stack, unsigned int samples)
{
	uint32_t thread = tapes_thread(tape, 7, 7, comm);

	while (samples--)
		tapes_sample(tape, TAPES_PERF, 0, thread, stack);
}

/* A program in C with a call into the kernel, one of Go, what was made at run time, a frame without
 * a name. */
static struct tape *usual_tape(void)
{
	struct tape *tape = tapes_new(0, 1);
	uint32_t program = tapes_module(tape, "/usr/bin/x", TAPE_MODULE_ELF);
	uint32_t kernel = tapes_module(tape, "[kernel.kallsyms]", TAPE_MODULE_KERNEL);
	uint32_t jit = tapes_module(tape, "/tmp/perf-7.map", TAPE_MODULE_JIT);
	uint32_t vdso = tapes_module(tape, "[vdso]", TAPE_MODULE_VDSO);
	uint32_t start = tapes_call(tape, 0, program, 16, "main");

	add(tape, "x", tapes_call(tape, start, program, 32, "work.isra.0"), 60);
	add(tape, "x", start, 10);
	add(tape, "x", tapes_call(tape, start, kernel, 48, "do_syscall_64"), 20);
	add(tape, "x", tapes_call(tape, start, vdso, 48, "clock_gettime"), 4);
	add(tape, "x", tapes_call(tape, start, jit, 64, "Lorg/Main;::run"), 3);
	add(tape, "x", tapes_call(tape, start, program, 80, ""), 1);
	add(tape, "go", tapes_call(tape, 0, program, 96, "k8s.io/cadvisor.(*Manager).run"), 2);
	return tape;
}

struct expected {
	const char *name;
	enum flame_kind kind;
	uint32_t depth;
	uint64_t start, samples;
};

static void check_frames(const struct flame *flame, const struct expected *expected, size_t count)
{
	CHECK_EQ(flame->frames.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct flame_frame *frame = &flame->frames.items[i];

		CHECK_STR(frame->name, expected[i].name);
		CHECK_EQ(frame->kind, expected[i].kind);
		CHECK_EQ(frame->depth, expected[i].depth);
		CHECK_EQ(frame->start, expected[i].start);
		CHECK_EQ(frame->samples, expected[i].samples);
	}
}

static void test_tree(void)
{
	static const struct expected expected[] = {
		{ "all", FLAME_ALL, 0, 0, 100 },
		{ "go", FLAME_COMM, 1, 0, 2 },
		{ "k8s.io/cadvisor.(*Manager).run", FLAME_GO, 2, 0, 2 },
		{ "x", FLAME_COMM, 1, 2, 98 },
		{ "main", FLAME_PROGRAM, 2, 2, 98 },
		{ "[unknown]", FLAME_UNKNOWN, 3, 12, 1 },
		{ "Lorg/Main;::run", FLAME_JIT, 3, 13, 3 },
		{ "do_syscall_64", FLAME_KERNEL, 3, 16, 20 },
		{ "work.isra.0", FLAME_PROGRAM, 3, 36, 60 },
		{ "clock_gettime", FLAME_VDSO, 3, 96, 4 },
	};
	_cleanup_(cleanup_folded) struct folded *folded = fold(usual_tape());
	_cleanup_(flame_done) struct flame flame = { 0 };

	CHECK_EQ(flame_make(folded, 0, 1000, &flame), 0);
	check_frames(&flame, expected, ARRAY_SIZE(expected));
	CHECK(flame.depth == 3 && !flame.left_out);
}

static void test_narrow(void)
{
	_cleanup_(cleanup_folded) struct folded *folded = fold(usual_tape());
	_cleanup_(flame_done) struct flame share = { 0 }, number = { 0 };

	CHECK_EQ(flame_make(folded, 0.04, 1000, &share), 0);
	CHECK_EQ(share.frames.count, 6);
	CHECK_EQ(share.left_out, 4);
	CHECK(!share.over_max);
	CHECK(share.least > 0.0399 && share.least < 0.0401);
	/* of three that fit, none has as few as the fourth */
	CHECK_EQ(flame_make(folded, 0, 3, &number), 0);
	CHECK_EQ(number.frames.count, 3);
	CHECK_EQ(number.left_out, 7);
	CHECK(number.over_max);
	CHECK_EQ(number.depth, 2);
}

static void test_nothing(void)
{
	_cleanup_(cleanup_folded) struct folded *folded = fold(tapes_new(0, 1));
	_cleanup_(flame_done) struct flame flame = { 0 };

	CHECK_EQ(flame_make(folded, 0.1, 10, &flame), 0);
	CHECK(flame.frames.count == 1 && !flame.left_out);
}

static char *drawn(struct tape *tape, const char *title)
{
	_cleanup_(cleanup_folded) struct folded *folded = fold(tape);
	_cleanup_(flame_done) struct flame flame = { 0 };
	const struct flamegraph graph = { &flame, title, "the window\nthe coverage\n" };

	CHECK_EQ(flame_make(folded, 0.01, 1000, &flame), 0);
	return SELECTIONS_TEXT(flamegraph_write(&graph, output));
}

static void test_drawn(void)
{
	_cleanup_free_ char *text = drawn(usual_tape(), "CPU stacks");

	check_golden("usual.svg", text);
}

static void test_hostile(void)
{
	struct tape *tape = hostile_tape();
	_cleanup_free_ char *text = NULL;

	add(tape, "]]>", tapes_kernel(tape, "<script>alert(1)</script>;\"'&amp;]]>"), 3);
	add(tape, "a\x01\x02",
	    tapes_kernel(tape, "\xe2\x80\xae"
			       "evil;\xef\xbf\xbf;\xed\xa0\x80"),
	    3);
	text = drawn(tape, "<b>\x1b[31m&\xff");
	CHECK(!strstr(text, "<script>alert") && !strstr(text, "\x1b"));
	check_golden("hostile.svg", text);
}

CHECK_MAIN({ "the tree", test_tree }, { "narrow frames", test_narrow }, { "nothing", test_nothing },
	   { "the file", test_drawn }, { "hostile names", test_hostile })
