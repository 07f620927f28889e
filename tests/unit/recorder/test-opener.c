// SPDX-License-Identifier: GPL-2.0-only
/*
 * The opener keeps files open that are deleted before their frames are named, and goes on when its
 * helpers hang or die. Only the test moves the clock, so a slow helper never counts as one that
 * hangs.
 */
#include "tests/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/files/fd-cache.h"
#include "recorder/files/opener.h"
#define FAKE_CLOCK_RUNS_REALTIME
#include "tests/fake-clock.h"
#define HELPERS_OPEN
#include "tests/helpers.h"
#include "tests/openers.h"
#include "tests/wait.h"

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

/* Set when no answer is due: a poll that would wait then moves the clock at once. */
static bool is_hung;
/* The number of polls that may wait. */
static unsigned int waits;

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int ready;

	if (timeout_ms == 0)
		return __real_poll(fds, count, 0);
	waits++;
	if (!is_hung)
		return __real_poll(fds, count, -1);
	ready = __real_poll(fds, count, 0);
	if (ready == 0)
		fake_clock_pass(timeout_ms * NSEC_PER_MSEC);
	return ready;
}

static void test_in_time(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text"), other = make_file("/tmp", "text");

	see(opener, &place);
	CHECK_EQ(turn_until_tried(opener, 1).descriptors, 1);
	remove_file(&place);
	CHECK_EQ(find(opener, &place), 0);
	/* the opener does not open a file again that a process maps again */
	see(opener, &place);
	CHECK_EQ(turn_until_tried(opener, 1).opened, 1);
	/* a file whose mapping the opener never saw, before and after the file is deleted */
	CHECK_EQ(find(opener, &other), 0);
	remove_file(&other);
	CHECK_EQ(find(opener, &other), -ENOENT);
}

static void test_too_late(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text");

	unlink(place.path);
	see(opener, &place);
	CHECK_EQ(turn_until_tried(opener, 1).failed, 1);
	CHECK_EQ(find(opener, &place), -ENOENT);
	/* another file has the name now */
	CHECK_EQ(mkfifo(place.path, 0600), 0);
	CHECK_EQ(find(opener, &place), -ESTALE);
	remove_file(&place);
}

static void test_changed(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text");
	_cleanup_close_ int fd = open(place.path, O_WRONLY | O_APPEND | O_CLOEXEC);

	see(opener, &place);
	CHECK_EQ(turn_until_tried(opener, 1).opened, 1);
	CHECK_EQ(write(fd, "more", 4), 4);
	CHECK_EQ(find(opener, &place), -ESTALE);
	remove_file(&place);
}

static void test_let_go(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(NSEC_PER_SEC);
	struct opener_counts counts = { .descriptors = 1 };
	struct place place = make_file("/tmp", "text");

	see(opener, &place);
	CHECK_EQ(turn_until_tried(opener, 1).descriptors, 1);
	fake_clock_pass(NSEC_PER_SEC - 1);
	turn(opener, &counts);
	CHECK_EQ(counts.descriptors, 1);
	/* the opener searches for old files once per second */
	for (int i = 0; i < 2; i++) {
		fake_clock_pass(NSEC_PER_SEC);
		turn(opener, &counts);
	}
	CHECK_EQ(counts.descriptors, 0);
	CHECK_EQ(find(opener, &place), 0);
	remove_file(&place);
}

/* Lists the children of a process in the order of /proc. */
static size_t children_of(pid_t parent, pid_t *children, size_t max)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(dir)) && count < max) {
		_cleanup_free_ char *text = NULL;
		char path[300], *end;
		int its_parent;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		if (atoi(entry->d_name) <= 0 || file_read(path, 4096, &text, NULL) < 0)
			continue;
		end = strrchr(text, ')');
		if (end && sscanf(end, ") %*c %d", &its_parent) == 1 && its_parent == parent)
			children[count++] = atoi(entry->d_name);
	}
	closedir(dir);
	return count;
}

/* Finds both helpers of the only opener, and the keepers that fork these helpers. */
static void find_helpers(struct opener *opener, pid_t helpers[2], pid_t keepers[2])
{
	struct place place = make_file("/tmp", "text");
	size_t found = 0, count;
	pid_t children[32];

	/* a helper that has answered exists */
	see(opener, &place);
	CHECK_EQ(turn_until_tried(opener, 1).opened, 1);
	unlink(place.path);
	place.about.st_ino++;
	CHECK_EQ(find(opener, &place), -ENOENT);
	remove_file(&place);
	count = children_of(getpid(), children, ARRAY_SIZE(children));
	for (size_t i = 0; i < count && found < 2; i++)
		if (children_of(children[i], &helpers[found], 1) == 1)
			keepers[found++] = children[i];
	CHECK_EQ(found, 2);
}

/* Returns the state letter of /proc/PID/stat, or 0 if the process does not exist. */
static char state_of(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[40], *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, 4096, &text, NULL) < 0)
		return 0;
	end = strrchr(text, ')');
	return end ? end[2] : 0;
}

/* Returns whether a process has ended. A zombie counts as ended, because its files are closed. */
static bool is_gone(pid_t pid)
{
	char state = state_of(pid);

	return state == 0 || state == 'Z' || state == 'X';
}

static void wait_until_gone(const pid_t pids[2])
{
	WAIT_UNTIL(is_gone(pids[0]) && is_gone(pids[1]));
}

static void signal_both(const pid_t pids[2], int number)
{
	kill(pids[0], number);
	kill(pids[1], number);
}

static void stop_both(const pid_t pids[2])
{
	signal_both(pids, SIGSTOP);
	WAIT_UNTIL(state_of(pids[0]) == 'T' && state_of(pids[1]) == 'T');
}

/*
 * A stopped helper stands for one that hangs in a file system that does not answer. The opener
 * gives up on this file system alone and still opens files of others.
 */
/* A lazy unmount frees the file system as soon as nobody has a file of it open. */
static void test_unmounted(void)
{
	char folder[] = "/tmp/perftape-unmounted-XXXXXX";
	struct opener *opener;
	struct opener_counts counts;
	struct place place, other;

	CHECK(mkdtemp(folder));
	if (mount("perftape-test", folder, "tmpfs", 0, "size=1m") < 0) {
		printf("# may not mount: %s\n", strerror(errno));
		rmdir(folder);
		return;
	}
	opener = make_opener(HOLD_NS);
	place = make_file(folder, "code");
	other = make_file("/tmp", "other code");
	see(opener, &place);
	see(opener, &other);
	counts = turn_until_tried(opener, 2);
	CHECK_EQ(counts.descriptors, 2);
	CHECK(umount2(folder, 0) < 0 && errno == EBUSY);
	CHECK_EQ(umount2(folder, MNT_DETACH), 0);
	fake_clock_pass(NSEC_PER_SEC);
	turn(opener, &counts);
	CHECK_EQ(counts.descriptors, 1);
	CHECK_EQ(find(opener, &other), 0);
	remove_file(&other);
	CHECK_EQ(rmdir(folder), 0);
	opener_free(opener);
}

static void test_stopped(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text"), elsewhere = make_file("/dev/shm", "text");
	struct opener_counts counts;
	pid_t helpers[2], keepers[2];

	find_helpers(opener, helpers, keepers);
	stop_both(helpers);
	waits = 0;
	see(opener, &place);
	see(opener, &elsewhere);
	opener_turn(opener, NULL);
	CHECK_EQ(waits, 0);
	is_hung = true;
	CHECK_EQ(find(opener, &place), -ETIMEDOUT);
	is_hung = false;
	CHECK(waits > 0);
	counts = turn_until_tried(opener, 3);
	CHECK_EQ(counts.failed, 1);
	CHECK_EQ(counts.opened, 2);
	CHECK_EQ(counts.unanswered, 2);
	/* neither another file of this file system nor an open file costs another wait */
	waits = 0;
	CHECK_EQ(find(opener, &place), -ETIMEDOUT);
	CHECK_EQ(find(opener, &elsewhere), 0);
	CHECK_EQ(waits, 0);
	remove_file(&place);
	remove_file(&elsewhere);
}

/* Stops all helpers of these keepers, also those that replaced others. */
static void stop_all(const pid_t keepers[2])
{
	for (size_t i = 0; i < 2; i++) {
		pid_t children[8];
		size_t count = children_of(keepers[i], children, ARRAY_SIZE(children));

		for (size_t k = 0; k < count; k++) {
			kill(children[k], SIGSTOP);
			WAIT_UNTIL(is_gone(children[k]) || state_of(children[k]) == 'T');
		}
	}
}

/*
 * One file that blocks does not make the opener give up on its file system. A second such file
 * does.
 */
static void test_two_stopped(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place places[3];
	pid_t helpers[2], keepers[2];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		places[i] = make_file("/tmp", "text");
	find_helpers(opener, helpers, keepers);
	for (size_t i = 0; i < 2; i++) {
		stop_all(keepers);
		is_hung = true;
		CHECK_EQ(find(opener, &places[i]), -ETIMEDOUT);
		is_hung = false;
		if (i == 0)
			CHECK_EQ(find(opener, &places[2]), 0);
	}
	CHECK_EQ(find(opener, &places[2]), -ETIMEDOUT);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		remove_file(&places[i]);
}

/* After a minute, the opener tries a file system that hung again. */
static void test_answers_again(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text");
	pid_t helpers[2], keepers[2];

	find_helpers(opener, helpers, keepers);
	stop_both(helpers);
	is_hung = true;
	CHECK_EQ(find(opener, &place), -ETIMEDOUT);
	is_hung = false;
	fake_clock_pass(59 * NSEC_PER_SEC);
	CHECK_EQ(find(opener, &place), -ETIMEDOUT);
	fake_clock_pass(NSEC_PER_SEC);
	CHECK_EQ(find(opener, &place), 0);
	remove_file(&place);
}

static void test_silent(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text");
	struct opener_counts counts = { 0 };
	pid_t helpers[2], keepers[2];

	find_helpers(opener, helpers, keepers);
	stop_both(helpers);
	see(opener, &place);
	fake_clock_pass(2 * NSEC_PER_SEC - 1);
	turn(opener, &counts);
	CHECK_EQ(counts.failed, 0);
	fake_clock_pass(1);
	turn(opener, &counts);
	CHECK_EQ(counts.failed, 1);
	CHECK_EQ(counts.unanswered, 1);
	remove_file(&place);
}

static void test_killed(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text");
	pid_t helpers[2], keepers[2];

	find_helpers(opener, helpers, keepers);
	stop_both(helpers);
	see(opener, &place);
	signal_both(helpers, SIGKILL);
	wait_until_gone(helpers);
	CHECK_EQ(turn_until_tried(opener, 2).failed, 1);
	/* if a helper dies while it is idle, all names stay */
	CHECK_EQ(find(opener, &place), 0);
	remove_file(&place);
}

/* The opener replaces keepers that somebody killed, and opens the files that it sees afterwards. */
static void test_keepers_killed(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text");
	pid_t helpers[2], keepers[2], children[4];

	find_helpers(opener, helpers, keepers);
	for (int i = 0; i < 2; i++) {
		uint64_t tried = 2 + i;

		/* the opener starts at most one keeper per second */
		fake_clock_pass(NSEC_PER_SEC);
		signal_both(keepers, SIGKILL);
		wait_until_gone(keepers);
		wait_until_gone(helpers);
		see(opener, &place);
		CHECK_EQ(turn_until_tried(opener, tried).opened, tried);
		place.about.st_ino++;
		CHECK_EQ(find(opener, &place), -ESTALE);
		/* the dead keepers are not zombies */
		CHECK_EQ(children_of(getpid(), children, ARRAY_SIZE(children)), 2);
		memcpy(keepers, children, sizeof(keepers));
		for (int k = 0; k < 2; k++)
			CHECK_EQ(children_of(keepers[k], &helpers[k], 1), 1);
		unlink(place.path);
		rmdir(place.dir);
		place = make_file("/tmp", "text");
	}
	remove_file(&place);
}

/* A program writes its perf map only after it maps the code, so the opener searches again later. */
static void test_perf_map(void)
{
	const struct finder finder = { .live = true };
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };
	struct finder_request request = { .kind = FINDER_JIT, .pid = getpid(), .path = "" };
	_cleanup_(finder_files_close) struct finder_files files = { -1, -1 };
	_cleanup_free_ char *text = NULL;
	char name[64], path[80];

	snprintf(name, sizeof(name), "perf-%d.map", getpid());
	snprintf(path, sizeof(path), "/tmp/%s", name);
	record.mmap.pid = getpid();
	record.mmap.path = "//anon";
	opener_see(opener, &record, 0);
	CHECK_EQ(turn_until_tried(opener, 1).failed, 1);
	CHECK_EQ(file_replace("/tmp", name, "1000 10 made\n", 13), 0);
	fake_clock_pass(NSEC_PER_SEC);
	CHECK_EQ(turn_until_tried(opener, 2).opened, 1);
	unlink(path);
	CHECK_EQ(opener_find(opener, &finder, &request, &files), 0);
	CHECK_EQ(file_read_fd(files.fd, 4096, &text, NULL), 0);
	CHECK_STR(text, "1000 10 made\n");
}

/* The next process with the same pid has another perf map. */
static void test_pid_again(void)
{
	const struct finder finder = { .live = true };
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };
	/* a process with this pid does not exist, so an ended process left the file in /tmp */
	struct finder_request request = { .kind = FINDER_JIT,
					  .pid = (1 << 30) + getpid(),
					  .path = "" };
	_cleanup_(finder_files_close) struct finder_files files = { -1, -1 };
	_cleanup_free_ char *text = NULL;
	char name[64], path[80];

	snprintf(name, sizeof(name), "perf-%d.map", request.pid);
	snprintf(path, sizeof(path), "/tmp/%s", name);
	record.mmap.pid = request.pid;
	record.mmap.path = "//anon";
	CHECK_EQ(file_replace("/tmp", name, "1000 10 first\n", 14), 0);
	opener_see(opener, &record, 0);
	CHECK_EQ(turn_until_tried(opener, 1).opened, 1);
	/* the opener checks once per second whether the process still runs */
	fake_clock_pass(NSEC_PER_SEC);
	opener_turn(opener, NULL);
	CHECK_EQ(file_replace("/tmp", name, "1000 10 second\n", 15), 0);
	opener_see(opener, &record, 0);
	CHECK_EQ(turn_until_tried(opener, 2).opened, 2);
	unlink(path);
	CHECK_EQ(opener_find(opener, &finder, &request, &files), 0);
	CHECK_EQ(file_read_fd(files.fd, 4096, &text, NULL), 0);
	CHECK_STR(text, "1000 10 second\n");
}

/* Adds the file until the opener has space for it among the files that wait for an answer. */
static uint64_t see_and_turn(struct opener *opener, const struct place *place,
			     struct opener_counts *counts)
{
	see(opener, place);
	turn(opener, counts);
	return counts->opened;
}

/*
 * Processes without a perf map can fill the cache. The opener still opens a file that it sees
 * later.
 */
static void test_many(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };
	struct place place = make_file("/tmp", "text");
	const uint64_t processes = FD_CACHE_MAX + 500;
	struct opener_counts counts = { 0 };

	record.mmap.path = "//anon";
	for (uint64_t i = 0; i < processes; i++) {
		/* processes with these pids do not exist */
		record.mmap.pid = record.mmap.tid = INT32_MAX - i;
		opener_see(opener, &record, 0);
		opener_turn(opener, NULL);
	}
	WAIT_UNTIL(see_and_turn(opener, &place, &counts) == 1);
	CHECK_EQ(counts.descriptors, 1);
	remove_file(&place);
	CHECK_EQ(find(opener, &place), 0);
}

CHECK_MAIN({ "files of an unmounted file system are closed", test_unmounted },
	   { "a file that is deleted after it was mapped still has names", test_in_time },
	   { "a file that was deleted too early has none", test_too_late },
	   { "a file that was written to since is refused", test_changed },
	   { "a file is closed after the hold time", test_let_go },
	   { "a helper that hangs costs one file system, and no wait", test_stopped },
	   { "a file system with two files that hang is left alone", test_two_stopped },
	   { "a dead file system is asked again after a minute", test_answers_again },
	   { "a helper that does not answer for 2 s is replaced", test_silent },
	   { "a helper that is killed is replaced", test_killed },
	   { "keepers that are killed are replaced", test_keepers_killed },
	   { "a perf map that appears late is found", test_perf_map },
	   { "a reused pid gets its own perf map", test_pid_again },
	   { "a full cache still takes new files", test_many })
