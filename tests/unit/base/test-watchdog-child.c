// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that hangs is killed and done again without the step that hung. Only the test moves the
 * clock, so a slow machine never looks like a step that hangs.
 */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/output-relay.h"
#include "base/watchdog-child.h"
#include "tests/fake-clock.h"
#include "tests/wait.h"

#define LIMIT_NS NSEC_PER_SEC

struct hangs {
	char text[256];
};

static void on_hang(void *context, const char *what)
{
	struct hangs *hangs = context;
	size_t size = strlen(hangs->text);

	snprintf(hangs->text + size, sizeof(hangs->text) - size, "%s;", what);
}

/*
 * Waits until the parent has read the clock twice more, so that it has judged the current time at
 * least once.
 */
static void wait_for_parent(void)
{
	uint64_t reads = fake_clock->reads;

	WAIT_UNTIL(fake_clock->reads >= reads + 2);
}

static bool is_asleep(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return file_read(path, 8192, &text, NULL) == 0 && strstr(text, "\nState:\tS");
}

/*
 * Moves the clock while the main thread sleeps, but not by so much that a child that makes progress
 * would hang.
 */
static void *pass_limits(void *unused)
{
	(void)unused;
	WAIT_UNTIL(is_asleep(getpid()));
	for (int i = 0; i < 5; i++) {
		wait_for_parent();
		fake_clock_pass(LIMIT_NS + 1);
	}
	return NULL;
}

static void hang(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, pass_limits, NULL) != 0)
		abort();
	for (;;)
		pause();
}

static int hang_in_some(void *context, struct watchdog_child *child)
{
	static const char *const reads[] = { "well", "stuck", "well too", "stuck too" };
	int skipped = 0;

	(void)context;
	for (size_t i = 0; i < 4; i++)
		if (!watchdog_child_enter(child, reads[i]))
			skipped++;
		else if (i % 2)
			hang();
	watchdog_child_enter(child, NULL);
	/* no limit applies to the time between steps */
	fake_clock_pass(100 * LIMIT_NS);
	wait_for_parent();
	return 40 + skipped;
}

static int hang_in_all(void *context, struct watchdog_child *child)
{
	char name[16];

	(void)context;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "read %d", i);
		if (watchdog_child_enter(child, name))
			hang();
	}
	return 0;
}

static int run(int (*work)(void *context, struct watchdog_child *child), struct hangs *hangs)
{
	const struct watchdog_child_work child = {
		.limit_ns = LIMIT_NS, .work = work, .on_hang = on_hang, .context = hangs
	};

	*hangs = (struct hangs){ "" };
	return watchdog_child_run(&child);
}

/*
 * A process that never sleeps stands for one that waits for a CPU: the kernel shows both as
 * running.
 */
static int run_for(struct watchdog_child *child, uint64_t ns)
{
	uint64_t reads;

	if (!watchdog_child_enter(child, "busy"))
		return 1;
	fake_clock_pass(ns);
	reads = fake_clock->reads;
	while (fake_clock->reads < reads + 2)
		;
	watchdog_child_enter(child, NULL);
	return 5;
}

static int run_slowly(void *context, struct watchdog_child *child)
{
	(void)context;
	return run_for(child, 6 * LIMIT_NS);
}

static int run_too_slowly(void *context, struct watchdog_child *child)
{
	(void)context;
	return run_for(child, 6 * LIMIT_NS + 1);
}

/* Sleeps again and again in one step, for five times the limit. */
static int take_naps(void *context, struct watchdog_child *child)
{
	(void)context;
	if (!watchdog_child_enter(child, "naps"))
		return 1;
	for (int i = 0; i < 5; i++) {
		wait_for_parent();
		fake_clock_pass(LIMIT_NS + 1);
	}
	wait_for_parent();
	watchdog_child_enter(child, NULL);
	return 5;
}

static void test_starved(void)
{
	struct hangs hangs;

	CHECK_EQ(run(take_naps, &hangs), 5);
	CHECK_STR(hangs.text, "");

	CHECK_EQ(run(run_slowly, &hangs), 5);
	CHECK_STR(hangs.text, "");
	CHECK_EQ(run(run_too_slowly, &hangs), 1);
	CHECK_STR(hangs.text, "busy;");
}

static void test_hangs(void)
{
	struct hangs hangs;

	CHECK_EQ(run(hang_in_some, &hangs), 42);
	CHECK_STR(hangs.text, "stuck;stuck too;");
}

static void test_bound(void)
{
	struct hangs hangs;

	CHECK_EQ(run(hang_in_all, &hangs), -ETIMEDOUT);
	CHECK(strstr(hangs.text, "read 15;"));
	CHECK(!strstr(hangs.text, "read 16;"));
}

/* A process that survives its parent stands for one that the kernel cannot kill. */
struct survivor {
	pid_t test;
	pid_t pid;
};

/* Hangs twice: in the child, and in a process that the watchdog does not know of. */
static int leave_one_behind(void *context, struct watchdog_child *child)
{
	struct survivor *survivor = context;
	pid_t pid;

	puts("before");
	fflush(stdout);
	if (!watchdog_child_enter(child, "stuck")) {
		puts("done");
		return 7;
	}
	pid = fork();
	if (pid) {
		survivor->pid = pid;
		hang();
	}
	WAIT_UNTIL(kill(survivor->test, 0) < 0);
	_exit(0);
}

static void forget_what(void *context, const char *what)
{
	(void)context;
	(void)what;
}

/*
 * Neither a reader of the output nor a process that waits for a lock on the test's files waits for
 * the process that hangs.
 */
static void test_output(void)
{
	struct survivor *survivor = mmap(NULL, sizeof(*survivor), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct watchdog_child_work child = { .limit_ns = LIMIT_NS,
						   .work = leave_one_behind,
						   .on_hang = forget_what,
						   .context = survivor };
	int out[2], other[2], stdout_fd = dup(STDOUT_FILENO), r;
	struct pollfd ended = { .events = POLLIN };
	char text[64] = "", byte;

	CHECK(survivor != MAP_FAILED);
	survivor->test = getpid();
	CHECK_EQ(pipe(out), 0);
	CHECK_EQ(pipe(other), 0);
	fflush(stdout);
	dup2(out[1], STDOUT_FILENO);
	close(out[1]);
	r = watchdog_child_run(&child);
	dup2(stdout_fd, STDOUT_FILENO);
	close(stdout_fd);
	close(other[1]);
	CHECK_EQ(r, 7);
	CHECK(survivor->pid > 0);
	CHECK_EQ(kill(survivor->pid, 0), 0);
	CHECK_EQ(read(out[0], text, sizeof(text) - 1), (ssize_t)strlen("before\nbefore\ndone\n"));
	CHECK_STR(text, "before\nbefore\ndone\n");
	for (int i = 0; i < 2; i++) {
		ended.fd = i ? other[0] : out[0];
		CHECK_EQ(poll(&ended, 1, 0), 1);
		CHECK_EQ(read(ended.fd, &byte, 1), 0);
		close(ended.fd);
	}
	kill(survivor->pid, SIGKILL);
	munmap(survivor, sizeof(*survivor));
}

/* The child's part: writes to both outputs in turn. */
static void write_in_turn(struct output_relay relays[RELAYS])
{
	relays_enter(relays, STDERR_FILENO);
	for (int i = 0; i < 4; i++)
		if (write(i % 2 ? STDERR_FILENO : STDOUT_FILENO, &"1234"[i], 1) != 1)
			_exit(1);
	_exit(0);
}

/*
 * Relays the output of a child that ends before its parent reads anything, as on a busy machine.
 * Returns what waitpid() says of the child.
 */
static int relay_late(int output, int messages)
{
	int stdout_fd = dup(STDOUT_FILENO), stderr_fd = dup(STDERR_FILENO), status = -1;
	struct output_relay relays[RELAYS];
	pid_t pid = -1;

	fflush(stdout);
	dup2(output, STDOUT_FILENO);
	dup2(messages, STDERR_FILENO);
	if (relays_open(relays) == 0)
		pid = fork();
	if (pid == 0)
		write_in_turn(relays);
	if (pid > 0 && waitpid(pid, &status, 0) == pid) {
		relays_begin(relays);
		relays_take(relays);
	}
	relays_done(relays);
	dup2(stdout_fd, STDOUT_FILENO);
	dup2(stderr_fd, STDERR_FILENO);
	close(stdout_fd);
	close(stderr_fd);
	return status;
}

static void test_order(void)
{
	char text[8] = "", more[8] = "";
	int both[2], other[2];

	CHECK_EQ(pipe(both), 0);
	CHECK_EQ(pipe(other), 0);
	CHECK_EQ(relay_late(both[1], both[1]), 0);
	CHECK_EQ(read(both[0], text, sizeof(text) - 1), 4);
	CHECK_STR(text, "1234");
	memset(text, 0, sizeof(text));
	CHECK_EQ(relay_late(both[1], other[1]), 0);
	CHECK_EQ(read(both[0], text, sizeof(text) - 1), 2);
	CHECK_EQ(read(other[0], more, sizeof(more) - 1), 2);
	CHECK_STR(text, "13");
	CHECK_STR(more, "24");
	for (int i = 0; i < 2; i++) {
		close(both[i]);
		close(other[i]);
	}
}

CHECK_MAIN({ "work runs again without the steps that hung", test_hangs },
	   { "work that waits for a CPU, or sleeps again and again, gets six times the limit",
	     test_starved },
	   { "work in which every step hangs ends after 16 of them", test_bound },
	   { "a process that hangs keeps no output and no file open", test_output },
	   { "lines of both outputs keep their order in one pipe", test_order })
