// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/perf/perf-poll.h"

static int open_event(unsigned long flags)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = true,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, flags);

	CHECK(fd >= 0);
	return fd;
}

/* An event without a ring buffer is always readable. */
static int open_ring(void)
{
	int fd = open_event(0);
	void *ring =
		mmap(NULL, 2 * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(ring != MAP_FAILED);
	return fd;
}

/*
 * Files that libperf opened are polled. A file that another thread opened is not polled, and
 * neither is the next file with the same number.
 */
static void test_others(void)
{
	struct perf_poll poll = { 0 };
	int ours = open_ring(), other = open_event(PERF_FLAG_FD_CLOEXEC);

	CHECK_EQ(perf_poll_collect(&poll, PERF_RING_SAMPLES, 1), 0);
	CHECK_EQ(poll.known.count, 1);
	CHECK_EQ(poll.files.count, 1);
	CHECK_EQ(poll.files.items[0].fd, ours);
	CHECK(fcntl(ours, F_GETFD) & FD_CLOEXEC);
	close(other);
	CHECK_EQ(open("/dev/null", O_RDONLY | O_CLOEXEC), other);
	CHECK_EQ(perf_poll_wait(&poll, 1), 0);
	/* the file is known now, and stays known */
	CHECK_EQ(perf_poll_collect(&poll, PERF_RING_TRACE, 1), 0);
	CHECK_EQ(poll.known.count, 1);
	CHECK_EQ(poll.rings.items[0], PERF_RING_SAMPLES);
	close(other);
	close(ours);
	perf_poll_done(&poll);
}

/* A closed event is never readable. */
static void test_closed(void)
{
	struct perf_poll poll = { 0 };
	int fd = open_ring();

	CHECK_EQ(perf_poll_collect(&poll, PERF_RING_SAMPLES, 1), 0);
	close(fd);
	CHECK_EQ(perf_poll_wait(&poll, NSEC_PER_SEC), 0);
	CHECK_EQ(open("/dev/null", O_RDONLY | O_CLOEXEC), fd);
	CHECK_EQ(perf_poll_wait(&poll, 1), 0);
	close(fd);
	perf_poll_done(&poll);
}

CHECK_MAIN({ "files of others are not polled", test_others },
	   { "closed events are not polled", test_closed })
