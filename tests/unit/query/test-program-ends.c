// SPDX-License-Identifier: GPL-2.0-only
/* How the user stacks of each program end, over segments and threads. */
#include "tests/check.h"

#include "query/read/program-ends.h"
#include "tests/tapes.h"

static const struct filter all;

static struct program_ends read_ends(const struct tapes_store *store, double from, double to)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct question question = {
		.window = { .from_ns = TAPES_REALTIME + (int64_t)(from * 1e9),
			    .to_ns = TAPES_REALTIME + (int64_t)(to * 1e9) },
		.filter = &all,
	};
	struct program_ends ends = { 0 };
	struct error error = { 0 };

	if (store_reader_open(store->path, &reader, &error) < 0 ||
	    program_ends_read(reader, &question, 2, &ends, &error) < 0)
		CHECK_FAIL("%s", error.text);
	return ends;
}

/* Adds a sample of main() and a function that it called, below a mark; NULL: no mark. */
static void add_sample(struct tape *tape, unsigned int ms, const char *comm, const char *mark)
{
	uint32_t elf = tapes_module(tape, "/usr/bin/x", TAPE_MODULE_ELF), stack = 0, frame;

	if (mark) {
		CHECK_EQ(tape_add_mark(tape, mark, &frame), 0);
		CHECK_EQ(tape_add_stack(tape, 0, frame, &stack), 0);
	}
	stack = tapes_call(tape, stack, elf, 0x1000, "main");
	stack = tapes_call(tape, stack, elf, 0x2000, "work");
	tapes_sample(tape, tape->begin_ns + ms * NSEC_PER_MSEC, 0, tapes_thread(tape, 1, 1, comm),
		     stack);
}

/* A tape whose stacks were read, with a sample of each kind. */
static struct tape *tape_at(unsigned int begin_s)
{
	struct tape *tape = tapes_new(begin_s, begin_s + 10);

	CHECK_EQ(tape_add_fact(tape, TAPE_STACK_BYTES, "16384"), 0);
	add_sample(tape, 1000, "python3", NULL);
	add_sample(tape, 2000, "python3", TAPE_CUT);
	add_sample(tape, 3000, "python3", TAPE_FRAME_POINTERS);
	add_sample(tape, 4000, "find", NULL);
	tapes_sample(tape, tape->begin_ns + 5000 * NSEC_PER_MSEC, 0,
		     tapes_thread(tape, 2, 2, "kswapd0"), tapes_kernel(tape, "kthread;kswapd"));
	return tape;
}

static void check_row(const struct program_ends *ends, size_t at, const char *name, uint64_t whole,
		      uint64_t cut, uint64_t frame_pointers)
{
	const struct program_ends_row *row = &ends->rows.items[at];

	CHECK(at < ends->rows.count);
	CHECK_STR(strings_at(&ends->names, row->name), name);
	CHECK_EQ(row->shares.whole, whole);
	CHECK_EQ(row->shares.cut, cut);
	CHECK_EQ(row->shares.frame_pointers, frame_pointers);
}

static void test_programs(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct program_ends ends;

	tapes_store_init(&store);
	tapes_store_put(&store, tape_at(0));
	tapes_store_put(&store, tape_at(10));
	tapes_store_put(&store, tape_at(20));
	ends = read_ends(&store, 0, 30);
	/* a program without user stacks is missing */
	CHECK_EQ(ends.rows.count, 2);
	check_row(&ends, 0, "python3", 3, 3, 3);
	check_row(&ends, 1, "find", 3, 0, 0);
	program_ends_done(&ends);
	ends = read_ends(&store, 11.5, 14.5);
	CHECK_EQ(ends.rows.count, 2);
	check_row(&ends, 0, "python3", 0, 1, 1);
	check_row(&ends, 1, "find", 1, 0, 0);
	program_ends_done(&ends);
}

static void test_nothing(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct program_ends ends;

	tapes_store_init(&store);
	tapes_store_put(&store, tape_at(0));
	ends = read_ends(&store, 100, 200);
	CHECK_EQ(ends.rows.count, 0);
	program_ends_done(&ends);
}

CHECK_MAIN({ "each program has its own shares", test_programs },
	   { "a window without samples has no programs", test_nothing })
