// SPDX-License-Identifier: GPL-2.0-only
/* Makes the tree of a flame graph and its file. tests/browser/ checks the file in a browser. */
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

/* Adds samples of one stack. */
static void add(struct tape *tape, const char *comm, uint32_t stack, unsigned int samples)
{
	uint32_t thread = tapes_thread(tape, 7, 7, comm);

	while (samples--)
		tapes_sample(tape, TAPES_PERF, 0, thread, stack);
}

/*
 * A program in C with a call into the kernel, a program in Go, generated code, and a frame without
 * a name.
 */
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

static const struct flame_options whole = { .frames_max = 1000 };

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

	CHECK_EQ(flame_make(folded, &whole, &flame), 0);
	check_frames(&flame, expected, ARRAY_SIZE(expected));
	CHECK(flame.depth == 3 && !flame.left_out);
}

/* A dot alone does not make a function one of Go: files and compilers use it, too. */
static void test_go(void)
{
	static const struct {
		const char *name;
		enum flame_kind kind;
	} rows[] = {
		{ "main.main", FLAME_GO },
		{ "runtime.mallocgc", FLAME_GO },
		{ "strings.partition", FLAME_GO },
		{ "work.part.0", FLAME_PROGRAM },
		{ "work.cold", FLAME_PROGRAM },
		{ "_nl_make_l10nflist.localalias", FLAME_PROGRAM },
		{ "copy.avx2.0", FLAME_PROGRAM },
		{ "[libzstd.so.1.5.4+0x28800]", FLAME_PROGRAM },
		{ "std::a.b", FLAME_PROGRAM },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tape *tape = tapes_new(0, 1);
		uint32_t program = tapes_module(tape, "/usr/bin/x", TAPE_MODULE_ELF);
		_cleanup_(cleanup_folded) struct folded *folded = NULL;
		_cleanup_(flame_done) struct flame flame = { 0 };

		add(tape, "x", tapes_call(tape, 0, program, 16, rows[i].name), 1);
		folded = fold(tape);
		CHECK_EQ(flame_make(folded, &whole, &flame), 0);
		CHECK_EQ(flame.frames.count, 3);
		CHECK_STR(flame.frames.items[2].name, rows[i].name);
		CHECK_EQ(flame.frames.items[2].kind, rows[i].kind);
	}
}

/*
 * As texts, "main" comes before "main.cold", and "main;work" after it. A function that also has its
 * own samples is still one frame.
 */
static void test_siblings(void)
{
	static const struct expected expected[] = {
		{ "all", FLAME_ALL, 0, 0, 9 },		 { "x", FLAME_COMM, 1, 0, 7 },
		{ "main", FLAME_PROGRAM, 2, 0, 5 },	 { "work", FLAME_PROGRAM, 3, 2, 3 },
		{ "main.cold", FLAME_PROGRAM, 2, 5, 2 }, { "x-y", FLAME_COMM, 1, 7, 2 },
		{ "main", FLAME_PROGRAM, 2, 7, 2 },
	};
	struct tape *tape = tapes_new(0, 1);
	uint32_t program = tapes_module(tape, "/usr/bin/x", TAPE_MODULE_ELF);
	uint32_t start = tapes_call(tape, 0, program, 16, "main");
	_cleanup_(cleanup_folded) struct folded *folded = NULL;
	_cleanup_(flame_done) struct flame flame = { 0 };

	add(tape, "x", start, 2);
	add(tape, "x", tapes_call(tape, start, program, 32, "work"), 3);
	add(tape, "x", tapes_call(tape, 0, program, 48, "main.cold"), 2);
	add(tape, "x-y", start, 2);
	folded = fold(tape);
	CHECK_EQ(flame_make(folded, &whole, &flame), 0);
	check_frames(&flame, expected, ARRAY_SIZE(expected));
}

/*
 * Two callers of a lock in two threads. A thread "plock" differs from the program's function
 * "lock", although both are stored as "plock".
 */
static void test_reverse(void)
{
	static const struct expected expected[] = {
		{ "all", FLAME_ALL, 0, 0, 10 },	    { "lock", FLAME_PROGRAM, 1, 0, 9 },
		{ "lock", FLAME_PROGRAM, 2, 0, 1 }, { "x", FLAME_COMM, 3, 0, 1 },
		{ "plock", FLAME_COMM, 2, 1, 2 },   { "read", FLAME_PROGRAM, 2, 3, 4 },
		{ "x", FLAME_COMM, 3, 3, 4 },	    { "write", FLAME_PROGRAM, 2, 7, 2 },
		{ "y", FLAME_COMM, 3, 7, 2 },	    { "write", FLAME_PROGRAM, 1, 9, 1 },
		{ "y", FLAME_COMM, 2, 9, 1 },
	};
	struct tape *tape = tapes_new(0, 1);
	uint32_t program = tapes_module(tape, "/usr/bin/x", TAPE_MODULE_ELF);
	uint32_t reading = tapes_call(tape, 0, program, 16, "read");
	uint32_t writing = tapes_call(tape, 0, program, 32, "write");
	uint32_t lock = tapes_call(tape, 0, program, 48, "lock");
	_cleanup_(cleanup_folded) struct folded *folded = NULL;
	_cleanup_(flame_done) struct flame flame = { 0 };

	add(tape, "x", tapes_call(tape, reading, program, 48, "lock"), 4);
	add(tape, "y", tapes_call(tape, writing, program, 48, "lock"), 2);
	add(tape, "y", writing, 1);
	add(tape, "x", tapes_call(tape, lock, program, 48, "lock"), 1);
	add(tape, "plock", lock, 2);
	folded = fold(tape);
	CHECK_EQ(flame_make(folded, &(struct flame_options){ 0, 1000, true, NULL }, &flame), 0);
	check_frames(&flame, expected, ARRAY_SIZE(expected));
	CHECK_EQ(flame.depth, 3);
}

static void test_narrow(void)
{
	_cleanup_(cleanup_folded) struct folded *folded = fold(usual_tape());
	_cleanup_(flame_done) struct flame share = { 0 }, number = { 0 };

	CHECK_EQ(flame_make(folded, &(struct flame_options){ 0.04, 1000, false, NULL }, &share), 0);
	CHECK_EQ(share.frames.count, 6);
	CHECK_EQ(share.left_out, 4);
	CHECK(!share.over_max);
	CHECK(share.least > 0.0399 && share.least < 0.0401);
	/* the fourth frame has fewer samples than the three that fit */
	CHECK_EQ(flame_make(folded, &(struct flame_options){ 0, 3, false, NULL }, &number), 0);
	CHECK_EQ(number.frames.count, 3);
	CHECK_EQ(number.left_out, 7);
	CHECK(number.over_max);
	CHECK_EQ(number.depth, 2);
}

static void test_nothing(void)
{
	_cleanup_(cleanup_folded) struct folded *folded = fold(tapes_new(0, 1));
	_cleanup_(flame_done) struct flame flame = { 0 };

	CHECK_EQ(flame_make(folded, &(struct flame_options){ 0.1, 10, false, NULL }, &flame), 0);
	CHECK(flame.frames.count == 1 && !flame.left_out);
}

static char *drawn(struct tape *tape, const char *title, bool reverse)
{
	_cleanup_(cleanup_folded) struct folded *folded = fold(tape);
	_cleanup_(flame_done) struct flame flame = { 0 };
	const struct flamegraph graph = {
		.flame = &flame,
		.title = title,
		.head = "the window\nthe coverage\n",
		.reverse = reverse,
	};

	CHECK_EQ(flame_make(folded, &(struct flame_options){ 0.0001, 1000, reverse, NULL }, &flame),
		 0);
	return SELECTIONS_TEXT(flamegraph_write(&graph, output));
}

static void test_drawn(void)
{
	_cleanup_free_ char *text = drawn(usual_tape(), "CPU stacks", false);
	_cleanup_free_ char *reversed = drawn(usual_tape(), "CPU stacks", true);

	check_golden("usual.svg", text);
	check_golden("reversed.svg", reversed);
}

/* In XML, a "<" begins a tag, except in the section that contains the script. */
static void check_tags(const char *text)
{
	const char *end = strstr(text, "<script>");

	CHECK(end);
	for (const char *tag = strchr(text, '<'); tag < end; tag = strchr(tag + 1, '<'))
		CHECK(strchr("/?", tag[1]) || (tag[1] >= 'a' && tag[1] <= 'z'));
}

/* The share of a narrow frame is "<0.1 %". */
static void test_small_share(void)
{
	struct tape *tape = usual_tape();
	_cleanup_free_ char *text = NULL;

	add(tape, "most", tapes_call(tape, 0, 0, 16, "most"), 4000);
	text = drawn(tape, "CPU stacks", false);
	CHECK(strstr(text, "1 sample, &lt;0.1 %, "));
	check_tags(text);
}

static unsigned int height_of(const char *text)
{
	const char *height = strstr(text, " height=\"");

	return atoi(height + strlen(" height=\""));
}

/* One broken stack of 127 frames among 5000 samples must not make the picture high. */
static void test_folded_rows(void)
{
	struct tape *tape = usual_tape();
	uint32_t program = tapes_module(tape, "/usr/bin/x", TAPE_MODULE_ELF);
	uint32_t stack = 0;
	_cleanup_free_ char *usual = drawn(usual_tape(), "CPU stacks", false), *text = NULL;

	add(tape, "x", tapes_call(tape, 0, program, 16, "main"), 4900);
	for (int i = 0; i < 127; i++)
		stack = tapes_call(tape, stack, program, 4096 + 16 * i, "junk");
	add(tape, "x", stack, 1);
	text = drawn(tape, "CPU stacks", false);
	CHECK_EQ(height_of(text), height_of(usual));
	CHECK(strstr(text, ">125 more rows, of frames narrower than a pixel</text>"));
	CHECK(!strstr(usual, "pixel</text>"));
	check_golden("folded-rows.svg", text);
}

/* SVG does not break lines, so a long one would end at the edge of the window. */
static void test_long_head(void)
{
	struct flame flame = { 0 };
	struct flame_frame all = { .name = "all" };
	static const char head[] =
		"short\n7887 samples; covered 100 %, 0 samples lost, about 36 samples skipped, "
		"255471 records of names lost (names may be wrong), 97494 records of names refused "
		"(a process made too many), names: 93.8 %\nlast\n";
	const struct flamegraph graph = { .flame = &flame, .title = "t", .head = head };
	struct output output = { .fd = -1 };
	const char *text;

	CHECK_EQ(array_push(&flame.frames, all), 0);
	CHECK_EQ(flamegraph_write(&graph, &output), 0);
	buffer_u8(&output.text, 0);
	text = (const char *)output.text.data;
	CHECK(strstr(text, "y=\"46\">short</text>"));
	CHECK(strstr(text, "y=\"61\">7887 samples; "));
	CHECK(strstr(text, " (names may be wrong),</text>\n"
			   "<text class=\"head\" x=\"10\" y=\"76\">97494 records"));
	CHECK(strstr(text, "y=\"91\">last</text>"));
	buffer_done(&output.text);
	array_done(&flame.frames);
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
	text = drawn(tape, "<b>\x1b[31m&\xff", false);
	CHECK(!strstr(text, "<script>alert") && !strstr(text, "\x1b"));
	check_golden("hostile.svg", text);
}

CHECK_MAIN({ "frames form a tree", test_tree }, { "a dot is not Go", test_go },
	   { "a function is one frame below its caller", test_siblings },
	   { "a reversed tree begins with the leaves", test_reverse },
	   { "narrow frames are left out", test_narrow },
	   { "rows of invisible frames are folded", test_folded_rows },
	   { "a window without samples", test_nothing },
	   { "the file matches tests/golden", test_drawn },
	   { "the share of a narrow frame is text", test_small_share },
	   { "a long line of the head is broken", test_long_head },
	   { "hostile names do no harm", test_hostile })
