// SPDX-License-Identifier: GPL-2.0-only
/* Single names, times and stacks of the export. test-golden.c compares whole files. */
#include "tests/check.h"

#include "flamescope-export/flamescope.h"
#include "tests/selections.h"

#define TWICE(text) text text
#define MANY(text) TWICE(TWICE(TWICE(TWICE(text))))

static char *written(const struct selection *selection)
{
	static const struct filter all;

	return SELECTIONS_TEXT(flamescope_write(
		selection,
		&(struct flamescope_options){ .filter = &all, .version = "1.2.3", .threads = 2 },
		output));
}

/* Adds a sample of kubelet at each perf time, on alternating CPUs. */
static struct selection *samples_at(double from, double to, const double *seconds, size_t count)
{
	struct selection *selection = selections_new(from, to);
	struct tape *tape = tapes_new(0, 100);
	uint32_t thread = tapes_thread(tape, 1240, 1241, "kubelet");
	uint32_t stack = tapes_kernel(tape, "do_syscall_64;shrink_node");

	for (size_t i = 0; i < count; i++)
		tapes_sample(tape, TAPES_PERF + (uint64_t)(seconds[i] * 1e9 + 0.5), i, thread,
			     stack);
	selections_add(selection, tape);
	return selection;
}

/* Returns the times of all events of a text, with blanks between. */
static const char *times(const char *text)
{
	static char shown[1024];
	size_t used = 0;

	shown[0] = 0;
	for (const char *at = strchr(text, '\n'); at; at = strchr(at + 1, '\n')) {
		const char *cpu = strstr(at + 1, "] "), *end = strchr(at + 1, '\n');

		if (!end || at[1] == '#' || at[1] == '\t' || !cpu || cpu > end)
			continue;
		used += snprintf(shown + used, sizeof(shown) - used, "%s%.*s", used ? " " : "",
				 (int)strcspn(cpu + 2, ":"), cpu + 2);
	}
	return shown;
}

static void test_comms(void)
{
	static const struct {
		const char *comm, *shown;
		bool changed;
	} rows[] = {
		{ "kubelet", "kubelet", false },
		{ "kworker/0:1", "kworker/0:1", false },
		{ "Web Content", "Web Content", false },
		{ "", ":77", false },
		{ "   ", "__", true },
		{ "a", "a_", true },
		{ "\xc3\xa9", "\xc3\xa9_", true },
		{ "a  ", "a_", true },
		{ "ab  ", "ab", false },
		{ " ab", "_ab", true },
		{ "#ab", "_ab", true },
		{ "##", "_#", true },
		{ "a 1: b", "a_1: b", true },
		{ "Job.Worker 3", "Job.Worker_3", true },
		{ "a 1/2 3", "a_1/2_3", true },
		{ "a .5: b", "a .5_ b", true },
		{ "\"use strict\"", "_use strict\"", true },
		{ "\"use strict'", "\"use strict'", false },
		{ "'use strict'", "_use strict'", true },
		{ "\xef\xbb\xbf"
		  "ab",
		  "?ab", true }, /* white space to JavaScript */
		{ "a\xe2\x80\xae"
		  "b",
		  "a?b", true }, /* reverses the characters after it */
		{ "1: b", "1: b", false },
		{ "a  1.2.:", "a _1.2.:", true },
		{ "a 1 :", "a_1 _", true },
		{ "x->y", "x-_y", true },
		{ "->>", "-_>", true },
		{ "-->", "--_", true },
		{ "a\tb\nc\x7f", "a?b?c?", true },
		{ "a\x80z", "a?z", true },
		{ "abc\xe4\xb8", "abc?",
		  true }, /* the kernel truncated the name in the middle of a character */
		{ "abc\xf0\x9f\x98z", "abc?z", true },
		{ "\xed\xa0\x80.", "???.", true }, /* a surrogate */
		{ "\xc0\xaf", "??", true },
		{ "\xf4\x90\x80\x80", "????", true },
		{ "\xf0\x9f\x98\x80x", "\xf0\x9f\x98\x80x", false },
		{ "\xc2\xa0"
		  "ab",
		  "?ab", true }, /* white space in Python */
		{ "a\xe2\x80\xa8"
		  "b",
		  "a?b", true },
		{ "swapper/3", "_wapper/3", true }, /* only an idle task has this tid */
		{ "kswappers", "k_wappers", true },
		{ "a\xc2\x85"
		  "b",
		  "a?b", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };

		CHECK_EQ(flamescope_put_comm(&text, rows[i].comm, 77), rows[i].changed);
		buffer_u8(&text, 0);
		CHECK_STR((const char *)text.data, rows[i].shown);
	}
}

static void test_symbols(void)
{
	static const char *const rows[][2] = {
		{ "operator+", "operator+" },
		{ "std::vector<int>::operator()(int) const",
		  "std::vector<int>::operator()(int) const" },
		{ "core::ops::Fn(u32) -> bool", "core::ops::Fn(u32) -_ bool" },
		{ "p->operator->()", "p-_operator-_()" },
		{ "", "[unknown]" },
		{ " x", "_x" },
		{ "#x", "_x" },
		{ "1: x:", "1_ x:" },
		{ "a 1: x:", "a 1_ x:" },
		{ "a\r\n", "a??" },
		{ "x", "x" },
		{ "+x", "_x" },
		{ "++", "_+" },
		{ "(x)", "_x)" },
		{ "x (y)", "x (y)" },
		{ "(anonymous namespace)::f(int)", "{anonymous}::f(int)" },
		{ "(anonymous namespace)", "{anonymous}" },
		{ "a::(anonymous namespace)::f", "a::(anonymous namespace)::f" },
		{ "(anonymous namespace)1: x:", "{anonymous}1: x:" },
		{ "(anonymous namespace) 1: x:", "{anonymous} 1_ x:" },
		{ "\"x\"", "_x\"" },
		{ "'", "_" },
		{ "xCD001CD001", "x_D001_D001" },
		{ "TMR SEGA", "_MR SEGA" },
		{ "x\"use strict\"", "x_use strict\"" },
		{ "[libfoo.so+0x4c80]", "[libfoo.so@0x4c80]" },
		{ "[libstdc++.so.6+0x10]", "[libstdc@@.so.6@0x10]" },
		{ "swapper", "_wapper" },
		{ "Swapper::swapper(int)", "Swapper::_wapper(int)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };

		flamescope_put_symbol(&text, rows[i][0]);
		buffer_u8(&text, 0);
		CHECK_STR((const char *)text.data, rows[i][1]);
	}
}

static void test_modules(void)
{
	static const char *const rows[][2] = {
		{ "/usr/bin/kubelet", "/usr/bin/kubelet" },
		{ "[kernel.kallsyms]", "[kernel.kallsyms]" },
		{ "/tmp/perf-12.map", "/tmp/perf-12.map" },
		{ "", "[unknown]" },
		{ "/bin/x (deleted)", "/bin/x" },
		{ "/bin/x (deleted) (deleted)", "/bin/x" },
		{ " (deleted)", "[unknown]" },
		{ "/bin/(deleted)/x", "/bin/_deleted_/x" },
		{ "/opt/my app (2)/x", "/opt/my_app__2_/x" },
		{ "/a 1: x:", "/a_1:_x:" },
		{ "/opt/trail ", "/opt/trail" },
		{ "/opt/trail  (deleted)", "/opt/trail" },
		{ "  ", "_" },
		{ "/opt/'use strict'", "/opt/_use_strict'" },
		{ "/a->b", "/a->b" },
		{ "/a\n\tb\xff", "/a??b?" },
		{ "/opt/swapper/bin", "/opt/_wapper/bin" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };

		flamescope_put_module(&text, rows[i][0]);
		buffer_u8(&text, 0);
		CHECK_STR((const char *)text.data, rows[i][1]);
	}
}

static void test_marker(void)
{
	_cleanup_(cleanup_selection) struct selection *selection =
		samples_at(0.75, 10, (const double[]){ 5.25, 6.5 }, 2);
	_cleanup_free_ char *text = written(selection);

	CHECK_STR(times(text), "1794971520.750000 1794971525.250000 1794971526.500000");
	CHECK(strstr(
		text,
		"\n# ========\nswapper     0/0     [000] 1794971520.750000:          0 cpu-clock:\n"
		"\t               0 cpuidle_enter_state ([kernel.kallsyms])\n\n"
		"kubelet  1240/1241  [000] 1794971525.250000:   10309278 cpu-clock:\n"
		"\tffffffff8100e00e shrink_node+0xe ([kernel.kallsyms])\n"
		"\tffffffff8100d00d do_syscall_64+0xd ([kernel.kallsyms])\n\n"));
	CHECK(!strstr(text, "# moved"));
}

static void test_last_on_the_second(void)
{
	_cleanup_(cleanup_selection) struct selection *selection =
		samples_at(0, 10, (const double[]){ 5, 6, 6 }, 3);
	_cleanup_free_ char *text = written(selection);

	CHECK_STR(times(text),
		  "1794971520.000000 1794971525.000000 1794971526.000000 1794971526.000001");
	CHECK(strstr(text, "# moved     : the last sample is shown 1 us late; "));
	CHECK(strstr(text, "; Flamescope fails on a full second\n"));
}

static void test_last_before_the_second(void)
{
	_cleanup_(cleanup_selection) struct selection *selection =
		samples_at(0, 6, (const double[]){ 4.9999995, 5.9999985, 5.9999991, 5.9999999 }, 4);
	_cleanup_free_ char *text = written(selection);

	CHECK_STR(times(text), "1794971520.000000 1794971524.999999 1794971525.999998 "
			       "1794971525.999998 1794971525.999998");
	CHECK(strstr(text,
		     "# moved     : the samples of the last microsecond are shown 1 us early; F"));
}

/*
 * The whole window lies in the last microsecond of a second. The marker must not come after the
 * samples.
 */
static void test_all_before_the_second(void)
{
	_cleanup_(cleanup_selection) struct selection *selection =
		samples_at(5.9999992, 6, (const double[]){ 5.9999995 }, 1);
	_cleanup_free_ char *text = written(selection);

	CHECK_STR(times(text), "1794971525.999998 1794971525.999998");
}

static void test_no_rows(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = samples_at(0, 10, NULL, 0);
	_cleanup_free_ char *text = written(selection);

	CHECK(strstr(text, "# samples   : 0\n"));
	CHECK_STR(times(text), "");
	CHECK_STR(text + strlen(text) - 12, "\n# ========\n");
}

/* A file that contains one part says so, and also states what holds for all parts. */
static void test_part(void)
{
	_cleanup_(cleanup_selection) struct selection *selection =
		samples_at(0, 10, (const double[]){ 5 }, 1);
	static const struct filter all;
	const struct flamescope_options options = {
		.filter = &all, .version = "1.2.3", .part = "comm <a b>", .of_samples = 17
	};
	_cleanup_free_ char *text = SELECTIONS_TEXT(flamescope_write(selection, &options, output));

	CHECK(strstr(text, "\n# part      : comm _a b_\n# samples   : 1 of the window's 17\n"));
	CHECK(strstr(text,
		     "\n# coverage  : covered 100 %, 0 samples lost (of the whole window)\n"));
}

/* Checks which comm a stack of swapper gets. */
static void check_idle(const char *functions, const char *comm)
{
	_cleanup_(cleanup_selection) struct selection *selection = selections_new(0, 10);
	struct tape *tape = tapes_new(0, 10);
	_cleanup_free_ char *text = NULL;
	char line[64];

	printf("# %s\n", functions);
	tapes_sample(tape, TAPES_PERF + 5, 2, tapes_thread(tape, 0, 0, "swapper"),
		     tapes_kernel(tape, functions));
	selections_add(selection, tape);
	text = written(selection);
	snprintf(line, sizeof(line), "\n%s     0/0     [002] ", comm);
	CHECK(strstr(text, line));
	CHECK_EQ(!strcmp(comm, "idle-irq"), strstr(text, "# idle-irq  : 1 (") != NULL);
}

#define IDLE "cpu_startup_entry;do_idle;cpuidle_enter_state"

static void test_idle(void)
{
	check_idle(IDLE ";native_safe_halt", "swapper");
	check_idle(IDLE ";asm_sysvec_apic_timer_interrupt;sysvec_apic_timer_interrupt;irq_exit_rcu",
		   "swapper");
	check_idle(IDLE ";xen_hvm_callback;xen_evtchn_do_upcall;handle_irq_event;hrtimer_interrupt;"
			"perf_swevent_hrtimer",
		   "swapper");
	check_idle(IDLE ";asm_sysvec_irq_work;sysvec_irq_work;irq_work_run", "swapper");
	check_idle(IDLE ";asm_sysvec_apic_timer_interrupt;sysvec_apic_timer_interrupt;irq_exit_rcu;"
			"__do_softirq;net_rx_action",
		   "idle-irq");
	check_idle(IDLE ";asm_common_interrupt;common_interrupt;__common_interrupt;handle_edge_irq;"
			"ena_intr_msix_io",
		   "idle-irq");
	check_idle(IDLE ";asm_sysvec_call_function_single;flush_smp_call_function_queue",
		   "idle-irq");
	/* without the idle loop, Flamescope does not hide samples */
	check_idle("start_secondary;__do_softirq;net_rx_action", "swapper");
}

/* A thread that is not idle has the same stack as one that is idle. */
static void test_idle_stack_of_others(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = selections_new(0, 10);
	struct tape *tape = tapes_new(0, 10);
	uint32_t stack = tapes_kernel(tape, IDLE ";__do_softirq");
	_cleanup_free_ char *text = NULL;

	tapes_sample(tape, TAPES_PERF + 5, 0, tapes_thread(tape, 9, 9, "stress"), stack);
	tapes_sample(tape, TAPES_PERF + 6, 1, tapes_thread(tape, 0, 0, "swapper"), stack);
	tapes_sample(tape, TAPES_PERF + 7, 0, tapes_thread(tape, 9, 9, "stress"), stack);
	selections_add(selection, tape);
	text = written(selection);
	CHECK(strstr(text, "\nstress     9/9     [000] "));
	CHECK(strstr(text, "\nidle-irq     0/0     [001] "));
	CHECK(strstr(text, "# idle-irq  : 1 ("));
}

/* strstr() is too slow here: under AddressSanitizer each call measures the rest of the text. */
static size_t count_text(const char *text, const char *wanted)
{
	size_t count = 0, size = strlen(wanted);

	for (; *text; text++)
		count += *text == *wanted && !strncmp(text, wanted, size);
	return count;
}

/* A program has the idle task's name. Its work is not idle time. */
static void test_swapper_at_work(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = selections_new(0, 10);
	struct tape *tape = tapes_new(0, 10);
	uint32_t module = tapes_module(tape, "/opt/swapper", TAPE_MODULE_ELF), stack;
	_cleanup_free_ char *text = NULL;

	stack = tapes_call(tape, 0, module, 1, "swapper");
	stack = tapes_call(tape, stack, module, 2, "read_cpuidle");
	tapes_sample(tape, TAPES_PERF + 5, 0, tapes_thread(tape, 9, 9, "swapper"), stack);
	selections_add(selection, tape);
	text = written(selection);
	CHECK(strstr(text, "\n_wapper     9/9     [000] "));
	CHECK(strstr(text, "\t               2 read_cpuidle+0x"));
	CHECK_EQ(count_text(text, "swapper"), 1); /* the comm of the start marker */
}

/* Returns the offset of the first name in the text. */
static ptrdiff_t first_name_at(const char *comm, const char *symbol, const char *path)
{
	_cleanup_(cleanup_selection) struct selection *selection = selections_new(0, 10);
	struct tape *tape = tapes_new(0, 10);
	uint32_t module = tapes_module(tape, path, TAPE_MODULE_ELF);
	_cleanup_free_ char *text = NULL;

	tapes_sample(tape, TAPES_PERF + 5, 0, tapes_thread(tape, 9, 9, comm),
		     tapes_call(tape, 0, module, 1, symbol));
	selections_add(selection, tape);
	text = written(selection);
	return strstr(text, "     9/9 ") - text;
}

/*
 * libmagic searches 8192 bytes. Flamescope does not open a file that libmagic recognises as source
 * code.
 */
static void test_disguise(void)
{
	static const char *const rows[][3] = {
		{ "extern int", "f", "/bin/x" },      { ".TH", "f", "/bin/x" },
		{ "<html>", "f", "/bin/x" },	      { "x", "<script>", "/bin/x" },
		{ "x", "module.exports=", "/bin/x" }, { "x", "f", "function(x)" },
		{ "x", "f", "\\begin{document}" },    { "union", "f", "/bin/x" },
		{ "x", "M.K.M.K.", "/bin/x" },	      { "all:", "f", "/bin/x" },
		{ "protected:x", "f", "/bin/x" },     { "LDFLAGS+=", "f", "/bin/x" },
	};

	CHECK(first_name_at("kworker/u8:1-ev", "(*T).f@plt", "/bin/x-1.2") < 1024);
	CHECK(first_name_at("unions", "union", "/bin/union") < 1024);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(first_name_at(rows[i][0], rows[i][1], rows[i][2]) > 8192);
}

static char *written_bare(const struct selection *selection)
{
	static const struct filter all;

	return SELECTIONS_TEXT(flamescope_write(selection,
						&(struct flamescope_options){ .filter = &all,
									      .version = "1.2.3",
									      .no_header = true },
						output));
}

/*
 * Returns the offset of the first name in a text without a header. The first line is that of the
 * marker.
 */
static ptrdiff_t bare_name_at(const char *comm)
{
	static const char first[] =
		"swapper     0/0     [000] 1794971520.000000:          0 cpu-clock:\n\t ";
	_cleanup_(cleanup_selection) struct selection *selection = selections_new(0, 10);
	struct tape *tape = tapes_new(0, 10);
	_cleanup_free_ char *text = NULL;

	tapes_sample(tape, TAPES_PERF + 5, 0, tapes_thread(tape, 9, 9, comm),
		     tapes_kernel(tape, "f"));
	selections_add(selection, tape);
	text = written_bare(selection);
	CHECK_EQ(strncmp(text, first, strlen(first)), 0);
	CHECK(strstr(text, " 0 cpuidle_enter_state ([kernel.kallsyms])\n\n"));
	return strstr(text, "     9/9 ") - text;
}

static void test_no_header(void)
{
	CHECK(bare_name_at("kubelet") < 1024);
	CHECK(bare_name_at("union") > 8192);
}

/* A window of ten seconds without samples in its last seconds. */
static void test_columns(void)
{
	_cleanup_(cleanup_selection) struct selection *early =
		samples_at(0.5, 10, (const double[]){ 5, 6.5 }, 2);
	_cleanup_(cleanup_selection) struct selection *late =
		samples_at(0.5, 10, (const double[]){ 9.5 }, 1);
	_cleanup_free_ char *cut = written(early), *whole = written(late);

	CHECK(strstr(cut, "\n# columns   : 7 of 10, because the last sample is in column 6\n"));
	CHECK(!strstr(whole, "# columns"));
}

static void test_deep(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = selections_new(0, 10);
	struct tape *tape = tapes_new(0, 10);
	uint32_t module = tapes_module(tape, "/bin/x", TAPE_MODULE_ELF), stack = 0;
	uint32_t thread = tapes_thread(tape, 1, 1, "deep");
	_cleanup_free_ char *text = NULL;

	for (int i = 1; i <= 479; i++) {
		stack = tapes_call(tape, stack, module, i, "recurse");
		if (i >= 478)
			tapes_sample(tape, TAPES_PERF + i, 0, thread, stack);
	}
	selections_add(selection, tape);
	text = written(selection);
	CHECK_EQ(count_text(text, " recurse+0x"), 2 * 478);
	CHECK_EQ(count_text(text, "\t               0 [cut] ([unknown])\n\n"), 1);
	CHECK(strstr(text, "# truncated : 1 ("));
	CHECK_EQ(count_text(text, "\t               1 recurse+0x1 (/bin/x)\n"), 1);
}

static void test_numbers(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = selections_new(0, 10);
	struct tape *tape = tapes_new(0, 10);
	uint32_t module = tapes_module(tape, "/bin/x", TAPE_MODULE_ELF), stack;
	_cleanup_free_ char *text = NULL;

	stack = tapes_call(tape, 0, 0, 0, "");
	stack = tapes_call(tape, stack, module, 0x1234, "");
	stack = tapes_call(tape, stack, module, UINT64_MAX, "");
	tapes_sample(tape, TAPES_PERF + 5, 12345, tapes_thread(tape, 4194304, 4194304, "x"), stack);
	tape->samples.items[0].period = UINT64_MAX;
	tapes_sample(tape, TAPES_PERF + 6, 0, tapes_thread(tape, -1, -1, ""), 0);
	tapes_sample(tape, TAPES_PERF + 7, 0, tapes_thread(tape, 1, 1, "exits"), 0);
	CHECK_EQ(tape_add_no_stack(tape, &tape->samples.items[2].frame), 0);
	selections_add(selection, tape);
	text = written(selection);
	CHECK(strstr(text, "\nexits     1/1     [000] "));
	CHECK(strstr(text, "   10309278 cpu-clock:\n\t               0 [unknown] ([unknown])\n\n"));
	CHECK(strstr(
		text,
		"\nx_ 4194304/4194304 [12345] 1794971520.000000: 18446744073709551615 cpu-clock:\n"
		"\tffffffffffffffff [unknown] (/bin/x)\n"
		"\t            1234 [unknown] (/bin/x)\n"
		"\t               0 [unknown] ([unknown])\n\n"
		":-1 4294967295/4294967295 [000] 1794971520.000000:   10309278 cpu-clock:\n"));
	CHECK(strstr(text, "# changed   : 1 ("));
}

static void test_events(void)
{
	_cleanup_(cleanup_selection) struct selection *selection =
		samples_at(0, 10, (const double[]){ 1 }, 1);
	struct tape *other = tapes_bare(TAPES_PERF, TAPES_PERF + 1);
	_cleanup_free_ char *text = NULL;

	other->facts.count = 0;
	CHECK_EQ(tape_add_fact(other, "event", "cycles"), 0);
	CHECK_EQ(tape_add_fact(other, "host", MANY("x\n")), 0);
	selections_add(selection, other);
	text = written(selection);
	CHECK(strstr(text, "# event     : cpu-clock, cycles\n"));
	CHECK(strstr(text, "# host      : example, " MANY("x?") "\n"));
	CHECK_EQ(count_text(text, " cycles:\n"), 0);
}

/* The text is longer than the output buffer. */
static void test_long(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = selections_new(0, 100);
	struct tape *tape = tapes_new(0, 100);
	uint32_t thread = tapes_thread(tape, 1, 1, "xy");
	uint32_t stack = tapes_kernel(tape, "aaaaaaaaaaaaaaaaaaaaa;bbbbbbbbbbbbbbbbbbbbbbbb");
	_cleanup_free_ char *text = NULL;

	for (int i = 0; i < 20000; i++)
		tapes_sample(tape, TAPES_PERF + i * NSEC_PER_MSEC, 0, thread, stack);
	selections_add(selection, tape);
	text = written(selection);
	CHECK_EQ(count_text(text, "\nxy     1/1     [000] "), 20000);
	CHECK_EQ(count_text(text, " aaaaaaaaaaaaaaaaaaaaa+0xd ([kernel.kallsyms])\n\n"), 20000);
}

CHECK_MAIN({ "comms are cleaned", test_comms }, { "symbols are cleaned", test_symbols },
	   { "modules are cleaned", test_modules },
	   { "the marker begins the first second", test_marker },
	   { "the last sample lies on a second", test_last_on_the_second },
	   { "the last sample lies just before a second", test_last_before_the_second },
	   { "all samples lie just before a second", test_all_before_the_second },
	   { "a window without samples", test_no_rows },
	   { "a file that is one of several says so", test_part },
	   { "interrupts on idle CPUs are work", test_idle },
	   { "an idle stack that another thread shares", test_idle_stack_of_others },
	   { "a program with the idle task's name works", test_swapper_at_work },
	   { "names do not make the file look like source code", test_disguise },
	   { "a text without a header", test_no_header },
	   { "columns without samples are not drawn", test_columns },
	   { "stacks that are too deep are truncated", test_deep },
	   { "numbers at their widest", test_numbers },
	   { "only one event is exported", test_events },
	   { "a text longer than the buffer", test_long })
