// SPDX-License-Identifier: GPL-2.0-only
/* Files that are opened in time, and helpers that stop, die, or are gone for good. */
#include "tests/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/files/fd-cache.h"
#include "recorder/files/opener.h"
#include "tests/fake-clock.h"

#define HOLD_NS (60 * NSEC_PER_SEC)

struct place {
	char dir[64];
	char path[PATH_MAX];
	struct stat about;
};

/* A file in a folder of its own, below one of another file system where that is wanted. */
static struct place make_file(const char *below, const char *text)
{
	struct place place;

	snprintf(place.dir, sizeof(place.dir), "%s/perftape-opener-XXXXXX", below);
	CHECK(mkdtemp(place.dir));
	snprintf(place.path, sizeof(place.path), "%s/file", place.dir);
	CHECK_EQ(file_replace(place.dir, "file", text, strlen(text)), 0);
	CHECK_EQ(stat(place.path, &place.about), 0);
	return place;
}

static void remove_file(const struct place *place)
{
	unlink(place->path);
	CHECK_EQ(rmdir(place->dir), 0);
}

static struct perf_record record_of(const struct place *place)
{
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };

	record.mmap.pid = record.mmap.tid = getpid();
	record.mmap.start = 0x1000;
	record.mmap.size = 0x1000;
	record.mmap.device = place->about.st_dev;
	record.mmap.inode = place->about.st_ino;
	record.mmap.path = place->path;
	return record;
}

static void see(struct opener *opener, const struct place *place)
{
	struct perf_record record = record_of(place);

	opener_see(opener, &record);
}

/* As the sealer asks. What was found is this file. */
static int find(struct opener *opener, const struct place *place)
{
	const struct finder finder = { .live = true, .delegate = opener_find, .context = opener };
	_cleanup_(finder_files_close) struct finder_files files;
	struct finder_request request = { .pid = getpid(), .path = place->path };
	struct stat about;
	int r;

	request.module.kind = TAPE_MODULE_ELF;
	request.module.device = place->about.st_dev;
	request.module.inode = place->about.st_ino;
	r = finder_find(&finder, &request, &files);
	if (r < 0)
		return r;
	CHECK_EQ(fstat(files.fd, &about), 0);
	CHECK_EQ(about.st_ino, place->about.st_ino);
	return 0;
}

static struct opener_counts turn_until_tried(struct opener *opener, uint64_t tried)
{
	struct opener_counts counts = { 0 };

	for (int i = 0; i < 1000 && counts.opened + counts.failed < tried; i++) {
		usleep(10000);
		opener_turn(opener);
		opener_counts(opener, &counts);
	}
	return counts;
}

static struct opener *make_opener(uint64_t hold_ns)
{
	struct opener *opener = NULL;

	CHECK_EQ(opener_new(hold_ns, &opener), 0);
	return opener;
}

static void test_in_time(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text"), other = make_file("/tmp", "text");

	see(opener, &place);
	CHECK_EQ(turn_until_tried(opener, 1).held, 1);
	remove_file(&place);
	CHECK_EQ(find(opener, &place), 0);
	/* what is seen again is not sent for again */
	see(opener, &place);
	CHECK_EQ(turn_until_tried(opener, 1).opened, 1);
	/* one that nobody saw, while it is there and when it is not */
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
	/* something else has its name by now */
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
	struct opener_counts counts = { .held = 1 };
	struct place place = make_file("/tmp", "text");

	see(opener, &place);
	CHECK_EQ(turn_until_tried(opener, 1).held, 1);
	fake_clock_pass(NSEC_PER_SEC / 2);
	opener_turn(opener);
	opener_counts(opener, &counts);
	CHECK_EQ(counts.held, 1);
	for (int i = 0; i < 10 && counts.held; i++) {
		fake_clock_pass(NSEC_PER_SEC / 2);
		opener_turn(opener);
		opener_counts(opener, &counts);
	}
	CHECK_EQ(counts.held, 0);
	CHECK_EQ(find(opener, &place), 0);
	remove_file(&place);
}

/* The processes that have that one as their parent, in the order in which /proc lists them. */
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

/* Both helpers, and their keepers, of the opener that was made last. */
static void find_helpers(struct opener *opener, pid_t helpers[2], pid_t keepers[2])
{
	struct place place = make_file("/tmp", "text");
	size_t found = 0, count;
	pid_t children[32];

	/* once both have answered they are there */
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

/* It does not exist, or is a zombie, whose files are closed. */
static bool is_gone(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[40], *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, 4096, &text, NULL) < 0)
		return true;
	end = strrchr(text, ')');
	return end && (end[2] == 'Z' || end[2] == 'X');
}

static void wait_until_gone(const pid_t pids[2])
{
	for (int i = 0; i < 60000 && (!is_gone(pids[0]) || !is_gone(pids[1])); i++)
		usleep(1000);
	CHECK(is_gone(pids[0]) && is_gone(pids[1]));
}

static void signal_both(const pid_t pids[2], int number)
{
	kill(pids[0], number);
	kill(pids[1], number);
}

/* As one that hangs in a file system that is dead; what is on another one is named all the same. */
static void test_stopped(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text"), elsewhere = make_file("/dev/shm", "text");
	uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	struct opener_counts counts;
	pid_t helpers[2], keepers[2];

	find_helpers(opener, helpers, keepers);
	signal_both(helpers, SIGSTOP);
	see(opener, &place);
	see(opener, &elsewhere);
	CHECK(clock_ns(CLOCK_MONOTONIC) - begin < NSEC_PER_SEC);
	CHECK_EQ(find(opener, &place), -ETIMEDOUT);
	counts = turn_until_tried(opener, 3);
	CHECK_EQ(counts.failed, 1);
	CHECK_EQ(counts.opened, 2);
	CHECK_EQ(counts.unanswered, 2);
	begin = clock_ns(CLOCK_MONOTONIC);
	CHECK_EQ(find(opener, &place), -ETIMEDOUT);
	CHECK_EQ(find(opener, &elsewhere), 0);
	CHECK(clock_ns(CLOCK_MONOTONIC) - begin < NSEC_PER_SEC);
	remove_file(&place);
	remove_file(&elsewhere);
}

static void test_killed(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text");
	pid_t helpers[2], keepers[2];

	find_helpers(opener, helpers, keepers);
	signal_both(helpers, SIGSTOP);
	see(opener, &place);
	signal_both(helpers, SIGKILL);
	wait_until_gone(helpers);
	CHECK_EQ(turn_until_tried(opener, 2).failed, 1);
	/* one that died while nobody asked it costs no name */
	CHECK_EQ(find(opener, &place), 0);
	remove_file(&place);
}

/* As by who kills all that is called like them: others come, and what is seen then is named. */
static void test_keepers_killed(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct place place = make_file("/tmp", "text");
	pid_t helpers[2], keepers[2], children[4];

	find_helpers(opener, helpers, keepers);
	for (int i = 0; i < 2; i++) {
		uint64_t tried = 2 + i;

		/* the last ones were not started a moment ago */
		fake_clock_pass(NSEC_PER_SEC);
		signal_both(keepers, SIGKILL);
		wait_until_gone(keepers);
		wait_until_gone(helpers);
		see(opener, &place);
		CHECK_EQ(turn_until_tried(opener, tried).opened, tried);
		place.about.st_ino++;
		CHECK_EQ(find(opener, &place), -ESTALE);
		/* no zombie is left */
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

/* A perf map is there a moment later than the code. */
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
	opener_see(opener, &record);
	CHECK_EQ(turn_until_tried(opener, 1).failed, 1);
	CHECK_EQ(file_replace("/tmp", name, "1000 10 made\n", 13), 0);
	while (turn_until_tried(opener, 2).opened < 1)
		;
	unlink(path);
	CHECK_EQ(opener_find(opener, &finder, &request, &files), 0);
	CHECK_EQ(file_read_fd(files.fd, 4096, &text, NULL), 0);
	CHECK_STR(text, "1000 10 made\n");
}

/* The next process that has a pid has a map of its own. */
static void test_pid_again(void)
{
	const struct finder finder = { .live = true };
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };
	/* no process has it: what is left in /tmp is its map */
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
	opener_see(opener, &record);
	CHECK_EQ(turn_until_tried(opener, 1).opened, 1);
	/* looked for once a second */
	fake_clock_pass(NSEC_PER_SEC);
	opener_turn(opener);
	CHECK_EQ(file_replace("/tmp", name, "1000 10 second\n", 15), 0);
	opener_see(opener, &record);
	CHECK_EQ(turn_until_tried(opener, 2).opened, 2);
	unlink(path);
	CHECK_EQ(opener_find(opener, &finder, &request, &files), 0);
	CHECK_EQ(file_read_fd(files.fd, 4096, &text, NULL), 0);
	CHECK_STR(text, "1000 10 second\n");
}

/* More processes make code, and tell nothing of it, than can be remembered: what is seen then is
 * opened all the same. */
static void test_many(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = make_opener(HOLD_NS);
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };
	struct place place = make_file("/tmp", "text");
	const uint64_t processes = FD_CACHE_MAX + 500;
	struct opener_counts counts = { 0 };

	record.mmap.path = "//anon";
	for (uint64_t i = 0; i < processes; i++) {
		/* no process has these */
		record.mmap.pid = record.mmap.tid = INT32_MAX - i;
		opener_see(opener, &record);
		opener_turn(opener);
		if (i % 32 == 0)
			usleep(1000);
	}
	for (int i = 0; i < 1000 && counts.opened == 0; i++) {
		usleep(10000);
		see(opener, &place);
		opener_turn(opener);
		opener_counts(opener, &counts);
	}
	CHECK_EQ(counts.held, 1);
	remove_file(&place);
	CHECK_EQ(find(opener, &place), 0);
}

CHECK_MAIN({ "in time", test_in_time }, { "too late", test_too_late }, { "changed", test_changed },
	   { "let go", test_let_go }, { "stopped", test_stopped }, { "killed", test_killed },
	   { "keepers killed", test_keepers_killed }, { "perf map", test_perf_map },
	   { "pid again", test_pid_again }, { "many", test_many })
