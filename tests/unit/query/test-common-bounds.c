// SPDX-License-Identifier: GPL-2.0-only
/* Foreign data may have any number of rows. The bounds must not favour incidents or controls. */
#include <string.h>

#include "query/common/common-internal.h"
#include "tests/tapes.h"

#define SETS 200
#define WINDOWS (SETS * 4)

static void bounds_done(struct common_run *run)
{
	array_done(&run->values);
	array_done(&run->windows);
	array_done(&run->last);
	strings_done(&run->keys);
}

/* Further names are left out, but not further values of names that are known. */
static void test_names(void)
{
	struct common_run run = { 0 };
	char key[1001];
	size_t values;

	memset(key, 'x', 1000);
	key[1000] = 0;
	for (uint32_t i = 0; run.key_bytes < COMMON_KEY_BYTES_MOST; i++) {
		snprintf(key, 12, "t%010u", i);
		key[11] = 'x';
		CHECK_EQ(common_values_add(&run, 0, key, 1), 0);
	}
	values = run.values.count;
	CHECK_EQ(common_values_add(&run, 1, "tnew", 1), 0);
	CHECK_EQ(run.values.count, values);
	CHECK_EQ(common_values_add(&run, 1, key, 1), 0);
	CHECK_EQ(run.values.count, values + 1);
	bounds_done(&run);
}

/* A gauge of several CPUs has one value in a window: the highest. */
static void test_highest(void)
{
	struct common_run run = { 0 };

	CHECK_EQ(common_values_add(&run, 0, "gcpu*/steal_ms", 2), 0);
	CHECK_EQ(common_values_add(&run, 0, "tother", 9), 0);
	CHECK_EQ(common_values_add(&run, 0, "gcpu*/steal_ms", 5), 0);
	CHECK_EQ(common_values_add(&run, 0, "gcpu*/steal_ms", 3), 0);
	CHECK_EQ(common_values_add(&run, 1, "gcpu*/steal_ms", 1), 0);
	CHECK_EQ(run.values.count, 3);
	CHECK(run.values.items[0].value == 5);
	CHECK(run.values.items[2].value == 1);
	bounds_done(&run);
}

static void add_windows(struct common_run *run, struct common_answer *answer)
{
	for (uint32_t i = 0; i < WINDOWS; i++)
		CHECK_EQ(array_push(&run->windows, (struct common_window){ .set = i / 4,
									   .rank = i % 4,
									   .read = true }),
			 0);
	for (size_t i = 0; i < SETS; i++)
		CHECK_EQ(array_push(&answer->cases, (struct common_case){ .read = true }), 0);
}

/* If the values of all rows have no room, those that most windows have remain. */
static void test_cells(void)
{
	struct common_answer answer = { 0 };
	struct common_run run = { .answer = &answer };
	struct common_matrix matrix = { 0 };
	size_t room = COMMON_CELLS_MOST / WINDOWS;
	char key[32];

	add_windows(&run, &answer);
	for (uint32_t i = 0; i < 2 * room; i++)
		for (uint32_t window = 0; window < (i % 4 ? 2 : 3); window++) {
			snprintf(key, sizeof(key), "t%u", i);
			CHECK_EQ(common_values_add(&run, window, key, 1), 0);
		}
	CHECK_EQ(common_matrix_make(&run, &matrix), 0);
	CHECK_EQ(matrix.input.rows, (2 * room + 3) / 4);
	for (size_t i = 0; i < matrix.input.rows; i++)
		CHECK_EQ(atoi(strings_at(&run.keys, matrix.keys[i]) + 1) % 4, 0);
	common_matrix_done(&matrix);
	common_done(&answer);
	bounds_done(&run);
}

#define STACKS 30
#define DEPTH 100
#define CPUS 3
#define SECONDS 6

/* Returns the leaf of a stack of functions that no other stack has. */
static uint32_t add_stack(struct tape *tape, uint32_t module, unsigned int number)
{
	uint32_t stack = 0;
	char name[16];

	for (unsigned int i = 0; i < DEPTH; i++) {
		snprintf(name, sizeof(name), "s%02u_f%02u", number, i);
		stack = tapes_call(tape, stack, module, (number * DEPTH + i + 1) * 256ull, name);
	}
	return stack;
}

/* Stack N has 30 + N samples: more than the time of a row that says nothing. */
static struct tape *many_functions(void)
{
	struct tape *tape = tapes_new(0, SECONDS);
	uint32_t module = tapes_module(tape, "/usr/bin/work", TAPE_MODULE_ELF);
	uint32_t thread = tapes_thread(tape, 7, 7, "work"),
		 idle = tapes_thread(tape, 0, 0, "swapper/0");
	uint32_t halt = tapes_kernel(tape, "do_idle;native_safe_halt");
	unsigned int number = 0, left = 30;
	uint32_t stack = add_stack(tape, module, 0);

	CHECK_EQ(tape_add_fact(tape, "cpus", "3"), 0);
	for (uint64_t i = 0; i < 97 * SECONDS; i++)
		for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
			uint64_t ns = tape->begin_ns + i * NSEC_PER_SEC / 97 / 1000 * 1000;

			if (number == STACKS) {
				tapes_sample(tape, ns, cpu, idle, halt);
				continue;
			}
			tapes_sample(tape, ns, cpu, thread, stack);
			if (--left)
				continue;
			left = 30 + ++number;
			if (number < STACKS)
				stack = add_stack(tape, module, number);
		}
	CHECK_EQ(number, STACKS);
	return tape;
}

/* Returns how many functions of a stack have a row. */
static unsigned int functions_of(const struct common_run *run, unsigned int number)
{
	unsigned int count = 0;
	char begin[8];

	snprintf(begin, sizeof(begin), "fs%02u_", number);
	for (size_t i = 0; i < run->values.count; i++)
		count += strncmp(strings_at(&run->keys, run->values.items[i].row), begin, 5) == 0;
	return count;
}

/* A window has the rows with most time, and no more than the bound. */
static void test_rows(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct common_store stores[1] = { { 0 } };
	const struct common_options options = { .stores = stores, .store_count = 1, .threads = 1 };
	struct common_answer answer = { 0 };
	struct common_run run = { .options = &options,
				  .answer = &answer,
				  .lock = PTHREAD_MUTEX_INITIALIZER };
	const struct common_window window = { .from_ns = TAPES_REALTIME,
					      .to_ns = TAPES_REALTIME + SECONDS * NSEC_PER_SEC };
	unsigned int whole = 0, partial = 0;
	struct error error = { 0 };

	tapes_store_init(&store);
	tapes_store_put(&store, many_functions());
	CHECK_EQ(store_reader_open(store.path, &stores[0].reader, &error), 0);
	CHECK_EQ(array_push(&answer.cases, (struct common_case){ .stall_to_ns = window.to_ns }), 0);
	CHECK_EQ(common_hosts_read(&run, &error), 0);
	CHECK_EQ(array_push(&run.windows, window), 0);
	CHECK_EQ(common_window_rows_read(&run, &error), 0);
	CHECK(run.windows.items[0].read);
	CHECK_EQ(run.values.count, COMMON_ROWS_MOST);
	/* a stack has its functions and its path; the others are of CPUs and of the thread */
	for (unsigned int i = STACKS; i-- > 0;) {
		unsigned int functions = functions_of(&run, i);

		CHECK(functions <= DEPTH);
		CHECK(functions == DEPTH ? !partial : !functions || !partial);
		whole += functions == DEPTH;
		partial += functions < DEPTH;
	}
	CHECK_EQ(whole, 20);
	common_hosts_done(&run);
	store_reader_close(stores[0].reader);
	pthread_mutex_destroy(&run.lock);
	common_done(&answer);
	bounds_done(&run);
}

static struct tape *one_thread(unsigned int begin)
{
	struct tape *tape = tapes_new(begin, begin + SECONDS);
	uint32_t thread = tapes_thread(tape, 7, 7, "work");
	uint32_t stack = tapes_kernel(tape, "do_syscall_64;vfs_read");

	for (uint64_t i = 0; i < 97 * SECONDS; i++)
		tapes_sample(tape, tape->begin_ns + i * NSEC_PER_SEC / 97 / 1000 * 1000, 0, thread,
			     stack);
	return tape;
}

/* An incident that there was no time for is not one without samples. */
static void test_time(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct common_store stores[1] = { { 0 } };
	const struct common_options options = { .stores = stores, .store_count = 1, .threads = 1 };
	struct common_answer answer = { 0 };
	struct common_run run = { .options = &options,
				  .answer = &answer,
				  .lock = PTHREAD_MUTEX_INITIALIZER };
	struct error error = { 0 };

	tapes_store_init(&store);
	for (unsigned int i = 0; i < 3; i++)
		tapes_store_put(&store, one_thread(i * SECONDS));
	CHECK_EQ(store_reader_open(store.path, &stores[0].reader, &error), 0);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t from_ns = TAPES_REALTIME + i * SECONDS * NSEC_PER_SEC;
		struct common_window window = { .set = i,
						.segment = i,
						.from_ns = from_ns,
						.to_ns = from_ns + SECONDS * NSEC_PER_SEC };

		CHECK_EQ(array_push(&answer.cases,
				    (struct common_case){ .stall_to_ns = window.to_ns }),
			 0);
		CHECK_EQ(array_push(&run.windows, window), 0);
	}
	CHECK_EQ(common_hosts_read(&run, &error), 0);
	/* small segments are read without a limit */
	for (size_t i = 0; i < 3; i++)
		run.hosts.items[0].segments.items[i].about.bytes = COMMON_FEW_BYTES;
	CHECK_EQ(common_window_rows_read(&run, &error), 0);
	/* the limit is 0, and one segment is always read */
	CHECK_EQ(answer.late, 2);
	CHECK_EQ(answer.unread, 0);
	CHECK(answer.limited);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(answer.cases.items[i].read, run.windows.items[i].tried);
	common_hosts_done(&run);
	store_reader_close(stores[0].reader);
	pthread_mutex_destroy(&run.lock);
	common_done(&answer);
	bounds_done(&run);
}

/* A window has no more gauges than the bound. The gauges of all CPUs are one of them. */
static void test_gauges(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 20);
	struct common_run run = { 0 };
	const struct common_window window = { .from_ns = TAPES_REALTIME + 5 * NSEC_PER_SEC,
					      .to_ns = TAPES_REALTIME + 11 * NSEC_PER_SEC };
	size_t cpus = 0;
	char name[48];

	for (unsigned int i = 0; i < 3 * COMMON_GAUGES_MOST; i++) {
		uint32_t gauge;

		snprintf(name, sizeof(name), i % 3 ? "cpu%u/steal_ms" : "memory_cgroups/made%u", i);
		CHECK_EQ(tape_add_gauge(tape, name, &gauge), 0);
		for (unsigned int at = 0; at < 20; at += 4)
			CHECK_EQ(tape_add_point(tape, gauge, tape->begin_ns + at * NSEC_PER_SEC,
						i + at),
				 0);
	}
	for (uint32_t i = 0; i < 2; i++) {
		CHECK_EQ(array_push(&run.windows, window), 0);
		CHECK_EQ(common_window_gauges_add(&run, i, tape), 0);
		CHECK_EQ(run.values.count, (i + 1) * COMMON_GAUGES_MOST);
	}
	for (size_t i = 0; i < run.values.count; i++)
		cpus += strcmp(strings_at(&run.keys, run.values.items[i].row), "gcpu*/steal_ms") ==
			0;
	CHECK_EQ(cpus, 2);
	bounds_done(&run);
}

static const struct check_test tests[] = { { "names have bounds", test_names },
					   { "the highest value counts", test_highest },
					   { "rows have bounds", test_cells },
					   { "rows of a window have bounds", test_rows },
					   { "gauges of a window have bounds", test_gauges },
					   { "the time of an answer has a bound", test_time } };

int main(void)
{
	return check_run(tests, ARRAY_SIZE(tests));
}
