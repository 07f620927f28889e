// SPDX-License-Identifier: GPL-2.0-only
/* Work that hangs is given up, and done without what hung. */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/watchdog-child.h"

#define LIMIT_NS 50000000ull

struct told {
	char text[256];
};

static void on_hang(void *context, const char *what)
{
	struct told *told = context;
	size_t size = strlen(told->text);

	snprintf(told->text + size, sizeof(told->text) - size, "%s;", what);
}

static int hang_in_some(void *context, struct watchdog_child *child)
{
	static const char *const reads[] = { "well", "stuck", "well too", "stuck too" };
	int passed_over = 0;

	(void)context;
	for (size_t i = 0; i < 4; i++)
		if (!watchdog_child_enter(child, reads[i]))
			passed_over++;
		else if (i % 2)
			pause();
	watchdog_child_enter(child, NULL);
	/* at nothing it may take its time */
	usleep(3 * LIMIT_NS / 1000);
	return 40 + passed_over;
}

static int hang_in_all(void *context, struct watchdog_child *child)
{
	char name[16];

	(void)context;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "read %d", i);
		if (watchdog_child_enter(child, name))
			pause();
	}
	return 0;
}

static int run(int (*work)(void *context, struct watchdog_child *child), struct told *told)
{
	const struct watchdog_child_work child = {
		.limit_ns = LIMIT_NS, .work = work, .on_hang = on_hang, .context = told
	};

	*told = (struct told){ "" };
	return watchdog_child_run(&child);
}

/* Three times as long as one that waits is left. */
static int take_the_cpu(void *context, struct watchdog_child *child)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + 3 * LIMIT_NS;

	(void)context;
	if (!watchdog_child_enter(child, "busy"))
		return 1;
	while (clock_ns(CLOCK_MONOTONIC) < end_ns)
		;
	watchdog_child_enter(child, NULL);
	return 5;
}

static void test_starved(void)
{
	struct told told;

	CHECK_EQ(run(take_the_cpu, &told), 5);
	CHECK_STR(told.text, "");
}

static void test_hangs(void)
{
	struct told told;

	CHECK_EQ(run(hang_in_some, &told), 42);
	CHECK_STR(told.text, "stuck;stuck too;");
}

static void test_bound(void)
{
	struct told told;

	CHECK_EQ(run(hang_in_all, &told), -ETIMEDOUT);
	CHECK(strstr(told.text, "read 15;"));
	CHECK(!strstr(told.text, "read 16;"));
}

/* One that does not end when it is killed: a process of its own that nobody ends. */
static int leave_one_behind(void *context, struct watchdog_child *child)
{
	pid_t *left = context, pid;

	puts("before");
	fflush(stdout);
	if (!watchdog_child_enter(child, "stuck")) {
		puts("done");
		return 7;
	}
	pid = fork();
	if (pid)
		*left = pid;
	alarm(20);
	for (;;)
		pause();
}

static void forget_what(void *context, const char *what)
{
	(void)context;
	(void)what;
}

/* Who waits for the end of the output does not wait for what hangs, nor does who waits for a lock
 * on a file. */
static void test_output(void)
{
	pid_t *left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			   -1, 0);
	const struct watchdog_child_work child = { .limit_ns = LIMIT_NS,
						   .work = leave_one_behind,
						   .on_hang = forget_what,
						   .context = left };
	int out[2], other[2], kept = dup(STDOUT_FILENO), r;
	struct pollfd ended = { .events = POLLIN };
	char text[64] = "", none;

	CHECK(left != MAP_FAILED);
	CHECK_EQ(pipe(out), 0);
	CHECK_EQ(pipe(other), 0);
	fflush(stdout);
	dup2(out[1], STDOUT_FILENO);
	close(out[1]);
	r = watchdog_child_run(&child);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	close(other[1]);
	CHECK_EQ(r, 7);
	CHECK(*left > 0);
	CHECK_EQ(kill(*left, 0), 0);
	CHECK_EQ(read(out[0], text, sizeof(text) - 1), (ssize_t)strlen("before\nbefore\ndone\n"));
	CHECK_STR(text, "before\nbefore\ndone\n");
	for (int i = 0; i < 2; i++) {
		ended.fd = i ? other[0] : out[0];
		CHECK_EQ(poll(&ended, 1, 0), 1);
		CHECK_EQ(read(ended.fd, &none, 1), 0);
		close(ended.fd);
	}
	kill(*left, SIGKILL);
	munmap(left, sizeof(*left));
}

CHECK_MAIN({ "work that hangs is done without what hung", test_hangs },
	   { "work that only gets too little of the CPU is left", test_starved },
	   { "where all hangs it ends", test_bound },
	   { "what hangs keeps nobody's files", test_output })
