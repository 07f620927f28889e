// SPDX-License-Identifier: GPL-2.0-only
/* A file that does not come is played by a FIFO into which nobody writes yet. */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/procs/proc-reader.h"

#define FIFOS (PROC_READER_STUCK_MAX + 2)

static char folder[64], paths[FIFOS][64];

static void make_fifos(void)
{
	snprintf(folder, sizeof(folder), "/tmp/perftape-fifo.XXXXXX");
	CHECK(mkdtemp(folder));
	for (int i = 0; i < FIFOS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%.40s/%d", folder, i);
		CHECK_EQ(mkfifo(paths[i], 0600), 0);
	}
}

static void remove_fifos(void)
{
	for (int i = 0; i < FIFOS; i++)
		unlink(paths[i]);
	rmdir(folder);
}

/* Once somebody reads it, who waits until it is closed. */
static int open_read(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK);

	for (int i = 0; i < 1000 && fd < 0; i++) {
		usleep(10000);
		fd = open(path, O_WRONLY | O_NONBLOCK);
	}
	CHECK(fd >= 0);
	return fd;
}

/* Whoever reads it gets all of it, and the end. */
static void feed(const char *path)
{
	close(open_read(path));
}

static void wait_for_stuck(const struct proc_reader *reader, unsigned int count)
{
	for (int i = 0; i < 1000 && proc_reader_stuck(reader) != count; i++)
		usleep(10000);
	CHECK_EQ(proc_reader_stuck(reader), count);
}

static void test_reads(void)
{
	struct proc_reader *reader;
	char *text = NULL;

	CHECK_EQ(proc_reader_new(&reader), 0);
	CHECK_EQ(proc_reader_read(reader, "/proc/self/comm", 4096, &text), -EAGAIN);
	proc_reader_allow(reader, 10 * NSEC_PER_SEC, 5 * NSEC_PER_SEC);
	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(proc_reader_read(reader, "/proc/self/comm", 4096, &text), 0);
		CHECK(*text);
		free(text);
	}
	CHECK_EQ(proc_reader_read(reader, "/proc/self/nothing", 4096, &text), -ENOENT);
	CHECK_EQ(proc_reader_read(reader, "/proc/self/maps", 10, &text), -EFBIG);
	CHECK_EQ(proc_reader_stuck(reader), 0);
	proc_reader_free(reader);
}

/* What does not come is left behind, and others come all the same; until too many are left behind.
 */
static void test_stuck(void)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	struct proc_reader *reader;
	char *text = NULL;
	int fd;

	make_fifos();
	CHECK_EQ(proc_reader_new(&reader), 0);
	for (int i = 0; i < PROC_READER_STUCK_MAX; i++) {
		proc_reader_allow(reader, 20 * NSEC_PER_MSEC, NSEC_PER_SEC);
		CHECK_EQ(proc_reader_read(reader, paths[i], 4096, &text), -EAGAIN);
		/* the time is used up */
		CHECK_EQ(proc_reader_read(reader, "/proc/self/comm", 4096, &text), -EAGAIN);
		CHECK_EQ(proc_reader_stuck(reader), i + 1);
	}
	CHECK(clock_ns(CLOCK_MONOTONIC) - begin_ns < 10 * NSEC_PER_SEC);
	proc_reader_allow(reader, 10 * NSEC_PER_SEC, 5 * NSEC_PER_SEC);
	CHECK_EQ(proc_reader_read(reader, "/proc/self/comm", 4096, &text), -EAGAIN);
	/* one comes back */
	feed(paths[0]);
	wait_for_stuck(reader, PROC_READER_STUCK_MAX - 1);
	CHECK_EQ(proc_reader_read(reader, "/proc/self/comm", 4096, &text), 0);
	free(text);
	for (int i = 1; i < PROC_READER_STUCK_MAX; i++)
		feed(paths[i]);
	wait_for_stuck(reader, 0);
	/* and one comes back when nobody is there any more */
	proc_reader_allow(reader, 20 * NSEC_PER_MSEC, NSEC_PER_SEC);
	CHECK_EQ(proc_reader_read(reader, paths[FIFOS - 1], 4096, &text), -EAGAIN);
	fd = open_read(paths[FIFOS - 1]);
	proc_reader_free(reader);
	close(fd);
	usleep(50000);
	remove_fifos();
}

/* From when it is to stop, what is allowed for all files is a moment, however much is allowed anew.
 */
static void test_hurry(void)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	volatile int stop = 0;
	struct proc_reader *reader;
	char *text = NULL;

	make_fifos();
	CHECK_EQ(proc_reader_new(&reader), 0);
	proc_reader_hurry(reader, &stop);
	proc_reader_allow(reader, 1000 * NSEC_PER_SEC, 1000 * NSEC_PER_SEC);
	CHECK_EQ(proc_reader_read(reader, "/proc/self/comm", 4096, &text), 0);
	free(text);
	stop = 1;
	CHECK_EQ(proc_reader_read(reader, paths[0], 4096, &text), -EAGAIN);
	proc_reader_allow(reader, 1000 * NSEC_PER_SEC, 1000 * NSEC_PER_SEC);
	CHECK_EQ(proc_reader_read(reader, paths[1], 4096, &text), -EAGAIN);
	CHECK(clock_ns(CLOCK_MONOTONIC) - begin_ns < 20 * NSEC_PER_SEC);
	feed(paths[0]);
	wait_for_stuck(reader, 0);
	proc_reader_free(reader);
	remove_fifos();
}

CHECK_MAIN({ "files are read", test_reads },
	   { "one that does not come holds nobody up", test_stuck },
	   { "who stops does not wait", test_hurry })
