// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares whole answers with the files of tests/golden/, byte by byte. tests/tools/check-stacks
 * also reads the files for Flamescope, with Flamescope's own expressions. UPDATE_GOLDEN=1 writes
 * the files instead: read the difference before you keep it. PERFTAPE_TESTS is the folder of the
 * tests, by default ./tests.
 */
#include "tests/check.h"

#include <stdlib.h>
#include <time.h>

#include "flamescope-export/flamescope.h"
#include "query/sums/folded.h"
#include "query/text/json-samples.h"
#include "tests/golden.h"
#include "tests/hostile.h"
#include "tests/selections.h"

/*
 * from and to are seconds of the epoch, and are passed to the checker's --from and --to. Prints the
 * checker's output as comments.
 */
static void check_stacks(const char *name, double from, double to)
{
	char command[8192], line[512];
	FILE *checker;

	snprintf(command, sizeof(command),
		 "python3 '%.3000s/tools/check-stacks' '%.3000s/golden/%s' --from %.6f --to %.6f",
		 tests_folder(), tests_folder(), name, from, to);
	fflush(stdout);
	checker = popen(command, "r");
	CHECK(checker);
	while (fgets(line, sizeof(line), checker))
		printf("# %s", line);
	CHECK_EQ(pclose(checker), 0);
}

static void check_flamescope(const char *name, const struct selection *selection, const char *cpus,
			     bool thread_frame)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	struct flamescope_options options = { .filter = &filter,
					      .version = "1.2.3",
					      .thread_frame = thread_frame };
	_cleanup_free_ char *text = NULL;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	if (cpus)
		CHECK_EQ(cpu_filter_parse(cpus, &filter.cpus, NULL), 0);
	text = SELECTIONS_TEXT(flamescope_write(selection, &options, output));
	check_golden(name, text);
	check_stacks(name, selection->window.from_ns / 1e9, (selection->window.to_ns - 1000) / 1e9);
}

static uint32_t go_stack(struct tape *tape, const char *leaf)
{
	uint32_t kubelet = tapes_module(tape, "/usr/bin/kubelet", TAPE_MODULE_ELF), stack;

	stack = tapes_call(tape, 0, kubelet, 0x6d2c1, "runtime.goexit");
	stack = tapes_call(tape, stack, kubelet, 0x1f4a003,
			   "k8s.io/cadvisor.(*Manager).housekeeping");
	stack = tapes_call(tape, stack, kubelet, 0x1f4b110, "");
	return tapes_call(tape, stack, tapes_module(tape, "[kernel.kallsyms]", TAPE_MODULE_KERNEL),
			  0xffffffff8134a1b2, leaf);
}

/*
 * A typical incident: a busy kubelet, idle CPUs, a softirq on one of these CPUs, two tapes, a gap,
 * losses.
 */
static struct selection *usual(void)
{
	struct selection *selection = selections_new(-1.5, 8.25);
	struct coverage_gap gap = {
		.from_ns = TAPES_REALTIME - 1500 * NSEC_PER_MSEC,
		.to_ns = TAPES_REALTIME,
		.why = "nothing recorded",
	};

	for (unsigned int i = 0; i < 2; i++) {
		struct tape *tape = tapes_new(i * 4, i * 4 + 5);
		uint32_t kubelet = tapes_thread(tape, 1240, 1262, "kubelet");
		uint32_t idle = tapes_thread(tape, 0, 0, "swapper");
		uint32_t busy = go_stack(tape, "mem_cgroup_nr_lru_pages");
		uint32_t halt = tapes_kernel(tape, "secondary_startup_64;cpu_startup_entry;do_idle;"
						   "cpuidle_enter_state;native_safe_halt");
		uint32_t net = tapes_kernel(
			tape, "secondary_startup_64;cpu_startup_entry;do_idle;cpuidle_enter_state;"
			      "asm_common_interrupt;__do_softirq;net_rx_action;ena_io_poll");
		uint64_t start = tape->begin_ns;

		for (unsigned int n = 0; n < 4; n++) {
			tapes_sample(tape, start + n * NSEC_PER_SEC + 1000, 3, kubelet, busy);
			tapes_sample(tape, start + n * NSEC_PER_SEC + 2000, 4, idle,
				     n == 2 ? net : halt);
		}
		selections_add(selection, tape);
	}
	CHECK_EQ(array_push(&selection->coverage.gaps, gap), 0);
	selection->coverage.covered_ns -= 1500 * NSEC_PER_MSEC;
	selection->coverage.lost_samples = 17;
	selection->coverage.throttled = 1;
	selection->coverage.frames = 100;
	selection->coverage.named = 92;
	selection->coverage.clock_error_ns = 2500;
	snprintf(selection->window.note, sizeof(selection->window.note),
		 "\"03:12\" was there twice (the clock was set back); taken is the first, "
		 "2026-11-18T03:12:00Z");
	return selection;
}

static void test_usual(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = usual();

	check_flamescope("usual.stacks", selection, "3-4", false);
}

static void test_hostile(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = hostile_selection();

	check_flamescope("hostile.stacks", selection, NULL, false);
}

static void test_single(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = selections_new(0, 10);
	struct tape *tape = tapes_new(0, 10);

	tapes_sample(tape, TAPES_PERF, 0, tapes_thread(tape, 1, 1, "systemd"), 0);
	selections_add(selection, tape);
	check_flamescope("single.stacks", selection, NULL, false);
}

static int write_marked(const struct selection *selection, enum folded_weight weight,
			unsigned int marks, struct output *output)
{
	_cleanup_(cleanup_folded) struct folded *folded = NULL;

	CHECK_EQ(folded_new(&folded), 0);
	folded->marks = marks;
	for (size_t i = 0; i < selection->tapes.count; i++)
		CHECK_EQ(folded_add_samples(folded, selection->tapes.items[i], weight), 0);
	return folded_write(folded, output);
}

/* All rows of a selection, which are all samples of its tapes. */
static int write_folded(const struct selection *selection, enum folded_weight weight,
			struct output *output)
{
	return write_marked(selection, weight, 0, output);
}

static void test_folded(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = usual();
	_cleanup_free_ char *samples = NULL, *period = NULL;

	samples = SELECTIONS_TEXT(write_folded(selection, FOLDED_SAMPLES, output));
	check_golden("usual.folded", samples);
	period = SELECTIONS_TEXT(write_folded(selection, FOLDED_PERIOD, output));
	check_golden("usual-period.folded", period);
}

static void test_folded_hostile(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = hostile_selection();
	_cleanup_free_ char *text =
		SELECTIONS_TEXT(write_folded(selection, FOLDED_SAMPLES, output));

	check_golden("hostile.folded", text);
}

static void test_thread_frames(void)
{
	_cleanup_(cleanup_selection) struct selection *hostile = hostile_selection();
	_cleanup_(cleanup_selection) struct selection *selection = usual();

	selection->window.at_ns = TAPES_REALTIME + 2250 * NSEC_PER_MSEC;
	check_flamescope("usual-threads.stacks", selection, NULL, true);
	check_flamescope("hostile-threads.stacks", hostile, NULL, true);
}

/* Makes a store of one tape and returns all of it as lines of JSON; the caller frees them. */
static char *json_of(struct tape *tape)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_cursor) struct cursor *cursor = NULL;
	static const struct filter all;
	struct question question = { .filter = &all,
				     .window = { .from_ns = TAPES_REALTIME,
						 .to_ns = TAPES_REALTIME + 100 * NSEC_PER_SEC } };
	uint64_t samples, count = tape->samples.count;
	char *text;

	tapes_store_init(&store);
	tapes_store_put(&store, tape);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(cursor_open(reader, &question, &cursor, NULL), 0);
	text = SELECTIONS_TEXT(
		json_samples_write(cursor, &question.window, output, &samples, NULL));
	CHECK_EQ(samples, count);
	return text;
}

/* This test does not compare the coverage. */
static void check_json(const char *name, struct tape *tape)
{
	_cleanup_free_ char *text = json_of(tape);
	char *coverage = strstr(text, "{\"coverage\":{");

	CHECK(coverage);
	*coverage = 0;
	check_golden(name, text);
}

static void test_json(void)
{
	struct tape *tape = tapes_new(0, 10);
	uint32_t kubelet = tapes_thread(tape, 1240, 1262, "kubelet"), none;

	tape->threads.items[kubelet].cgroup = tapes_string(tape, "/system.slice/kubelet.service");
	tapes_sample(tape, TAPES_PERF + 1000, 3, kubelet, go_stack(tape, "ena_io_poll"));
	tapes_sample(tape, TAPES_PERF + 999999000, 0, tapes_thread(tape, 0, 0, ""),
		     tapes_kernel(tape, "x"));
	CHECK_EQ(tape_add_no_stack(tape, &none), 0);
	tapes_sample(tape, TAPES_PERF + 1000000000, 1, kubelet, 0);
	tape->samples.items[2].frame = none;
	check_json("usual.json", tape);
}

static void test_json_hostile(void)
{
	check_json("hostile.json", hostile_tape());
}

/* tests/texts/ reads these texts as other tools do, and compares them with readers.json. */
static void test_readers(void)
{
	_cleanup_(cleanup_selection) struct selection *selection = selections_new(0.25, 100);
	static const struct filter all;
	struct flamescope_options options = { .filter = &all, .version = "1.2.3" };
	_cleanup_free_ char *bare = NULL, *folded = NULL, *marked = NULL;

	selections_add(selection, readers_tape());
	check_flamescope("readers.stacks", selection, NULL, false);
	check_flamescope("readers-threads.stacks", selection, NULL, true);
	options.no_header = true;
	bare = SELECTIONS_TEXT(flamescope_write(selection, &options, output));
	check_golden("readers-bare.stacks", bare);
	folded = SELECTIONS_TEXT(write_folded(selection, FOLDED_SAMPLES, output));
	check_golden("readers.folded", folded);
	marked = SELECTIONS_TEXT(write_marked(selection, FOLDED_SAMPLES,
					      FOLDED_MARK_KERNEL | FOLDED_MARK_JIT, output));
	check_golden("readers-marks.folded", marked);
	check_json("readers.json", readers_tape());
}

CHECK_MAIN({ "an incident for Flamescope", test_usual },
	   { "hostile names for Flamescope", test_hostile },
	   { "a single sample for Flamescope", test_single },
	   { "an incident as folded stacks", test_folded },
	   { "hostile names in folded stacks", test_folded_hostile },
	   { "threads as frames", test_thread_frames },
	   { "an incident as lines of JSON", test_json },
	   { "hostile names in JSON", test_json_hostile },
	   { "names that break other readers", test_readers })
