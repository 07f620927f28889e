// SPDX-License-Identifier: GPL-2.0-only
/*
 * A function that blocks until the test releases it stands for a file that hangs. Only the test
 * moves the clock, so a read is late only if the test wants it.
 */
#include "tests/check.h"

#include <dirent.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/clock.h"
#include "recorder/procs/proc-reader.h"
#define FAKE_CLOCK_WAITS
#include "tests/fake-clock.h"
#include "tests/wait.h"

#define LIMIT_NS NSEC_PER_SEC

static sem_t released;

/* Uses up the caller's time, but only after this read has begun. */
static int read_that_hangs(const char *path, size_t limit, char **ret_text)
{
	(void)path;
	(void)limit;
	(void)ret_text;
	fake_clock_pass(LIMIT_NS);
	while (sem_wait(&released) < 0)
		;
	return -EIO;
}

static int read_and_hang(struct proc_reader *reader)
{
	char *text;

	return proc_reader_run(reader, read_that_hangs, "", 0, &text);
}

/* Reads a file that exists and checks that its text is not empty. */
static int read_comm(struct proc_reader *reader)
{
	_cleanup_free_ char *text = NULL;
	int r = proc_reader_read(reader, "/proc/self/comm", 4096, &text);

	CHECK(r < 0 || *text);
	return r;
}

static unsigned int count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	unsigned int count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* The number of threads of this process while no reader exists. */
static unsigned int idle_threads;

/* A sanitizer starts its own thread with the test's first thread, and keeps it. */
static void count_idle_threads(void)
{
	struct proc_reader *reader = NULL;
	unsigned int with_reader;

	CHECK_EQ(proc_reader_new(&reader), 0);
	with_reader = count_threads();
	proc_reader_free(reader);
	WAIT_UNTIL((idle_threads = count_threads()) < with_reader);
}

static struct proc_reader *make_reader(void)
{
	struct proc_reader *reader = NULL;

	if (!idle_threads)
		count_idle_threads();
	CHECK_EQ(sem_init(&released, 0, 0), 0);
	CHECK_EQ(proc_reader_new(&reader), 0);
	return reader;
}

/* Releases threads that hang, and checks that every thread ends. */
static void release_and_free(struct proc_reader *reader, unsigned int hanging)
{
	for (unsigned int i = 0; i < hanging; i++)
		CHECK_EQ(sem_post(&released), 0);
	if (reader)
		WAIT_UNTIL(proc_reader_stuck(reader) == 0);
	proc_reader_free(reader);
	WAIT_UNTIL(count_threads() == idle_threads);
}

static void test_reads(void)
{
	struct proc_reader *reader = make_reader();
	char *text = NULL;

	CHECK_EQ(read_comm(reader), -EAGAIN);
	proc_reader_allow(reader, LIMIT_NS, LIMIT_NS);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(read_comm(reader), 0);
	CHECK_EQ(proc_reader_read(reader, "/proc/self/nothing", 4096, &text), -ENOENT);
	CHECK_EQ(proc_reader_read(reader, "/proc/self/maps", 10, &text), -EFBIG);
	CHECK_EQ(proc_reader_stuck(reader), 0);
	release_and_free(reader, 0);
}

static void test_stuck(void)
{
	struct proc_reader *reader = make_reader();

	for (int i = 0; i < PROC_READER_STUCK_MAX; i++) {
		proc_reader_allow(reader, LIMIT_NS, LIMIT_NS);
		CHECK_EQ(read_and_hang(reader), -EAGAIN);
		/* the budget is used up */
		CHECK_EQ(read_comm(reader), -EAGAIN);
		CHECK_EQ(proc_reader_stuck(reader), i + 1);
	}
	proc_reader_allow(reader, LIMIT_NS, LIMIT_NS);
	CHECK_EQ(read_comm(reader), -EAGAIN);
	CHECK_EQ(sem_post(&released), 0);
	WAIT_UNTIL(proc_reader_stuck(reader) == PROC_READER_STUCK_MAX - 1);
	CHECK_EQ(read_comm(reader), 0);
	release_and_free(reader, PROC_READER_STUCK_MAX - 1);
}

/* Processes that let each look at their maps hang leave room for the other files of /proc. */
static void test_stuck_maps(void)
{
	struct proc_reader *reader = make_reader();
	_cleanup_free_ char *text = NULL;

	for (int i = 0; i < PROC_READER_MAPS_STUCK_MAX; i++) {
		proc_reader_allow(reader, LIMIT_NS, LIMIT_NS);
		CHECK_EQ(read_and_hang(reader), -EAGAIN);
	}
	proc_reader_allow(reader, LIMIT_NS, LIMIT_NS);
	CHECK_EQ(proc_reader_read_maps(reader, "/proc/self/maps", 1 << 20, &text), -EAGAIN);
	CHECK_EQ(read_comm(reader), 0);
	CHECK_EQ(sem_post(&released), 0);
	WAIT_UNTIL(proc_reader_stuck(reader) == PROC_READER_MAPS_STUCK_MAX - 1);
	CHECK_EQ(proc_reader_read_maps(reader, "/proc/self/maps", 1 << 20, &text), 0);
	release_and_free(reader, PROC_READER_MAPS_STUCK_MAX - 1);
}

/* A file may have less than the whole budget; the rest is for other files. */
static void test_each(void)
{
	struct proc_reader *reader = make_reader();

	proc_reader_allow(reader, 3 * LIMIT_NS, LIMIT_NS);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(read_comm(reader), 0);
		CHECK_EQ(read_and_hang(reader), -EAGAIN);
	}
	CHECK_EQ(read_comm(reader), -EAGAIN);
	release_and_free(reader, 3);
}

/* A thread that got no CPU in time does not hang: it ends as soon as it runs. */
static void test_starved(void)
{
	struct proc_reader *reader = make_reader();

	for (int i = 0; i < 2 * PROC_READER_STUCK_MAX; i++) {
		proc_reader_allow(reader, LIMIT_NS, 0);
		CHECK_EQ(read_comm(reader), -EAGAIN);
		WAIT_UNTIL(count_threads() == idle_threads);
		CHECK_EQ(proc_reader_stuck(reader), 0);
	}
	proc_reader_allow(reader, LIMIT_NS, LIMIT_NS);
	CHECK_EQ(read_comm(reader), 0);
	release_and_free(reader, 0);
}

static void test_outlives(void)
{
	struct proc_reader *reader = make_reader();

	proc_reader_allow(reader, LIMIT_NS, LIMIT_NS);
	CHECK_EQ(read_and_hang(reader), -EAGAIN);
	proc_reader_free(reader);
	release_and_free(NULL, 1);
}

/*
 * After the stop, all reads together may take less than a second, whatever budget they get later.
 */
static void test_hurry(void)
{
	struct proc_reader *reader = make_reader();
	volatile sig_atomic_t stop = 0;

	proc_reader_set_stop(reader, &stop);
	proc_reader_allow(reader, 1000 * LIMIT_NS, 1000 * LIMIT_NS);
	CHECK_EQ(read_comm(reader), 0);
	stop = 1;
	CHECK_EQ(read_comm(reader), 0);
	CHECK_EQ(read_and_hang(reader), -EAGAIN);
	proc_reader_allow(reader, 1000 * LIMIT_NS, 1000 * LIMIT_NS);
	CHECK_EQ(read_and_hang(reader), -EAGAIN);
	CHECK_EQ(proc_reader_stuck(reader), 1);
	release_and_free(reader, 1);
}

CHECK_MAIN({ "files are read", test_reads },
	   { "reading goes on until eight threads hang, and again when one returns", test_stuck },
	   { "stuck maps leave room for other files", test_stuck_maps },
	   { "a file that hangs uses up its own limit only", test_each },
	   { "a thread that gets no CPU does not count as stuck", test_starved },
	   { "a thread that hangs outlives the reader", test_outlives },
	   { "after a stop the reads get less than a second", test_hurry })
