// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sealer that names slowly, and a sealer after a recorder that died while it named a tape. Both
 * keep all samples.
 */
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "recorder/sink/sealer.h"
#include "tests/made-spools.h"
#include "tests/sealers.h"
#include "tests/wait.h"

/* Puts all of a tape into the spool and waits until it is there. */
static void spool_all(struct sealer *sealer, const struct tape *tape)
{
	struct spool_block block = { 0 };
	struct spool_mark mark = { 0 };

	CHECK_EQ(spool_encode(tape, &mark, tape->end_ns, &block), 0);
	CHECK_EQ(sealer_put_block(sealer, &block), 0);
	spool_mark_done(&mark);
	WAIT_UNTIL(status_of(sealer).spooled_ns >= tape->end_ns);
}

/*
 * While names take long, tapes beyond the memory wait in the spool. The sealer does not lose them.
 */
static void test_defers(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct gate gate;
	struct sealer_options options = {
		.memory_bytes = MEMORY,
		.finder = { .live = true, .delegate = wait_at_gate, .context = &gate }
	};
	struct sealer_status status;
	struct sealer *sealer;
	struct found found;

	CHECK_EQ(sem_init(&gate.reached, 0, 0), 0);
	CHECK_EQ(sem_init(&gate.opened, 0, 0), 0);
	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	CHECK_EQ(sealer_put(sealer, make_tape_of_program(sealer, 20 * SAMPLES)), 0);
	CHECK_EQ(sem_wait(&gate.reached), 0);
	status = status_of(sealer);
	CHECK_STR(status.naming.file, "/a/program");
	CHECK(status.naming.number > 0 && status.naming.number <= status.naming.count);
	for (unsigned int i = 1; i < 4; i++) {
		struct tape *tape = make_tape(sealer, i, SAMPLES);

		/* a tape without a boot ID counts as a tape of this boot */
		tape->facts.count = 0;
		CHECK_EQ(tape_add_fact(tape, "host", "example"), 0);
		spool_all(sealer, tape);
		CHECK_EQ(sealer_put(sealer, tape), 0);
	}
	CHECK_EQ(status_of(sealer).unsaved_samples, 0);
	CHECK_EQ(status_of(sealer).waiting, 4);
	CHECK_EQ(sem_post(&gate.opened), 0);
	sealer_stop(sealer, &status);
	found = look(&store);
	CHECK_EQ(status.unsaved_samples, 0);
	CHECK_STR(status.naming.file, "");
	CHECK_EQ(status.segments, 4);
	CHECK_EQ(found.segments, 4);
	CHECK_EQ(found.samples, (20 + 3) * SAMPLES);
	CHECK_EQ(found.unsaved, 0);
}

static int count_searches(void *context, const struct finder *finder,
			  struct finder_request *request, struct finder_files *ret_files)
{
	(void)finder;
	(void)request;
	(void)ret_files;
	++*(int *)context;
	return -ENOENT;
}

/* Leaves a spool of a tape with a program, with or without the mark of a recorder that died. */
static void leave_spool(const struct tapes_store *store, bool marked)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(spooling_done) struct spooling spooling;
	struct tape_thread thread = { .pid = 1, .tid = 1 };
	uint32_t module, frame, stack, id;

	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	spooling_init(&spooling, store_writer_number(writer), 10);
	module = tapes_module(spooling.tape, "/a/program", TAPE_MODULE_ELF);
	CHECK_EQ(tape_add_frame(spooling.tape, module, 0x10, &frame), 0);
	CHECK_EQ(tape_add_stack(spooling.tape, 0, frame, &stack), 0);
	CHECK_EQ(tape_add_thread(spooling.tape, &thread, &id), 0);
	tapes_sample(spooling.tape, spooling.tape->end_ns, 0, id, stack);
	CHECK_EQ(spooling_put(&spooling, writer), 0);
	if (marked)
		CHECK_EQ(store_writer_mark_naming(writer, spooling.tape, NULL), 0);
}

/* Returns how often the next recorder searches for the program's file. */
static int recover_it(const struct tapes_store *store, struct sealer_status *ret_status)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	int searches = 0;
	struct sealer_options options = {
		.boot_id = "of another boot",
		.finder = { .delegate = count_searches, .context = &searches },
	};
	struct sealer *sealer;

	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	sealer_stop(sealer, ret_status);
	return searches;
}

static bool has_mark(const struct tapes_store *store)
{
	char command[256];

	snprintf(command, sizeof(command), "test -n \"$(ls '%s'/spool)\"", store->path);
	return system(command) == 0;
}

/*
 * A recorder that died while it named a tape leaves a mark. The next recorder does not name this
 * tape.
 */
static void test_marked(void)
{
	for (int marked = 0; marked < 2; marked++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		struct sealer_status status;

		tapes_store_init(&store);
		leave_spool(&store, marked);
		CHECK_EQ(recover_it(&store, &status), !marked);
		CHECK_EQ(status.recovered.tapes, 1);
		CHECK_EQ(!!strstr(status.warning.text, "has no names"), marked);
		CHECK_EQ(look(&store).samples, 5);
		CHECK(!has_mark(&store));
	}
}

/* Returns the mark at the first and at the second try to seal a tape. */
static void mark_twice(bool marked_before, int ret_marks[2])
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *earlier = NULL, *writer = NULL;
	_cleanup_(spooling_done) struct spooling spooling;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &earlier, NULL), 0);
	spooling_init(&spooling, store_writer_number(earlier), 1);
	if (marked_before)
		CHECK_EQ(store_writer_mark_naming(earlier, spooling.tape, NULL), 0);
	earlier = store_writer_close(earlier);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	for (int i = 0; i < 2; i++)
		ret_marks[i] = store_writer_mark_naming(writer, spooling.tape, NULL);
}

/* A seal that fails is tried again. Then the mark of a recorder that died still counts. */
static void test_marked_again(void)
{
	int marks[2];

	mark_twice(true, marks);
	CHECK_EQ(marks[0], 1);
	CHECK_EQ(marks[1], 1);
	mark_twice(false, marks);
	CHECK_EQ(marks[0], 0);
	CHECK_EQ(marks[1], 0);
}

/*
 * A recorder runs for weeks. It keeps the marks of an earlier recorder in mind, but not those of
 * its own tapes.
 */
static void test_marks_of_weeks(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	size_t before;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	before = strings_count(&writer->marked);
	for (int i = 0; i < 100; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = tapes_bare(0, NSEC_PER_SEC);

		tape->sequence = store_writer_number(writer);
		tape->facts.count = 0;
		CHECK_EQ(tape_add_fact(tape, "boot_id", writer->boot_id), 0);
		CHECK_EQ(store_writer_mark_naming(writer, tape, NULL), 0);
		CHECK_EQ(store_writer_mark_naming(writer, tape, NULL), 0);
	}
	CHECK_EQ(strings_count(&writer->marked), before);
}

CHECK_MAIN({ "beyond the limit a tape waits in the spool", test_defers },
	   { "a tape is not named again after a recorder died over it", test_marked },
	   { "the mark of a recorder that died counts at each try", test_marked_again },
	   { "a recorder does not remember its own marks", test_marks_of_weeks })
