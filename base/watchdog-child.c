// SPDX-License-Identifier: GPL-2.0-only
#include "base/watchdog-child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/output-relay.h"

/* If more steps than this hang, the whole host does not answer. */
#define HUNG_MAX 16
#define POLL_MS 100

/* Multiplies the limit for a child that is stopped, does not get a CPU, or makes progress. */
#define STARVED_FACTOR 6

/* The memory that both processes share. */
struct watchdog_child {
	/* When the current step started; 0: no step that may hang is running. */
	_Atomic uint64_t since_ns;
	char what[64];
	char hung[HUNG_MAX][64];
	size_t hung_count;
};

bool watchdog_child_enter(struct watchdog_child *child, const char *what)
{
	child->since_ns = 0;
	if (!what)
		return true;
	for (size_t i = 0; i < child->hung_count; i++)
		if (strcmp(child->hung[i], what) == 0)
			return false;
	snprintf(child->what, sizeof(child->what), "%s", what);
	child->since_ns = clock_ns(CLOCK_MONOTONIC);
	return true;
}

/* What the parent saw of the child when it looked. */
struct look {
	/* The step, by its start. */
	uint64_t step_ns;
	/* How often the child gave up its CPU. */
	uint64_t switches;
	/* The child waits within the kernel. */
	bool blocked;
};

static struct look look_at(pid_t pid, uint64_t step_ns)
{
	static const char states[] = "\nState:\t", counts[] = "\nvoluntary_ctxt_switches:\t";
	struct look look = { step_ns, 0, true };
	_cleanup_free_ char *text = NULL;
	const char *state, *count;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read(path, 65536, &text, NULL) < 0)
		return look;
	state = strstr(text, states);
	count = strstr(text, counts);
	look.blocked = !state || !strchr("RTt", state[strlen(states)]);
	look.switches = count ? strtoull(count + strlen(counts), NULL, 10) : 0;
	return look;
}

/* The child's last sleep, as far as the looks show it. */
struct stillness {
	struct look look;
	uint64_t since_ns;
};

/*
 * Returns whether the child sleeps in one and the same place for the limit. A child that sleeps
 * again and again, as on a busy host, makes progress.
 */
static bool watchdog_child_hangs(pid_t pid, const struct watchdog_child *child, uint64_t limit_ns,
				 struct stillness *still)
{
	uint64_t step_ns = child->since_ns, now = clock_ns(CLOCK_MONOTONIC);
	struct look look;

	if (!step_ns)
		return false;
	if (now > step_ns + STARVED_FACTOR * limit_ns)
		return true;
	look = look_at(pid, step_ns);
	if (!look.blocked || look.step_ns != still->look.step_ns ||
	    look.switches != still->look.switches) {
		*still = (struct stillness){ look, now };
		return false;
	}
	return now > still->since_ns + limit_ns;
}

/* Runs the work in the child, which the kernel kills when its parent ends. */
static void do_work(const struct watchdog_child_work *work, struct watchdog_child *child,
		    pid_t parent)
{
	int code = EXIT_FAILURE;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
		code = work->work(work->context, child);
	fflush(NULL);
	exit(code);
}

/*
 * Relays the child's output until the child ends, which closes its pipe, or until a step hangs.
 * Returns 0 or -ETIMEDOUT.
 */
static int watchdog_child_watch(pid_t pid, int fd, struct output_relay relays[RELAYS],
				const struct watchdog_child *child, uint64_t limit_ns)
{
	struct pollfd waits[1 + RELAYS] = { { .fd = fd } };
	struct stillness still = { 0 };
	int r = 1;

	while (r > 0) {
		for (int i = 0; i < RELAYS; i++)
			waits[1 + i] = (struct pollfd){ .fd = relays[i].from, .events = POLLIN };
		if (poll(waits, ARRAY_SIZE(waits), POLL_MS) > 0 && waits[0].revents)
			r = 0;
		else if (watchdog_child_hangs(pid, child, limit_ns, &still))
			r = -ETIMEDOUT;
		relays_take(relays);
	}
	return r;
}

static int watchdog_child_reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	/* end by the same signal as the child */
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return -EINTR;
}

static int watchdog_child_start(const struct watchdog_child_work *work,
				struct watchdog_child *child, struct output_relay relays[RELAYS],
				int keep, pid_t *ret_pid)
{
	pid_t parent = getpid();

	child->since_ns = 0;
	fflush(NULL);
	*ret_pid = fork();
	if (*ret_pid < 0)
		return -errno;
	if (!*ret_pid) {
		relays_enter(relays, keep);
		do_work(work, child, parent);
	}
	relays_begin(relays);
	return 0;
}

/* Runs the work once. Returns its exit code, or -ETIMEDOUT after noting the step that hung. */
static int run_once(const struct watchdog_child_work *work, struct watchdog_child *child,
		    struct output_relay relays[RELAYS])
{
	_cleanup_close_ int reads = -1, writes = -1;
	int fds[2], r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	reads = fds[0];
	writes = fds[1];
	r = watchdog_child_start(work, child, relays, writes, &pid);
	if (r < 0)
		return r;
	close(take_fd(writes));
	r = watchdog_child_watch(pid, reads, relays, child, work->limit_ns);
	if (r == 0)
		return watchdog_child_reap(pid);
	kill(pid, SIGKILL);
	memcpy(child->hung[child->hung_count++], child->what, sizeof(child->what));
	work->on_hang(work->context, child->what);
	return r;
}

int watchdog_child_run(const struct watchdog_child_work *work)
{
	struct watchdog_child *child = mmap(NULL, sizeof(*child), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct output_relay relays[RELAYS];
	int r;

	if (child == MAP_FAILED)
		return -errno;
	do {
		r = relays_open(relays);
		if (r == 0)
			r = run_once(work, child, relays);
		relays_done(relays);
	} while (r == -ETIMEDOUT && child->hung_count < HUNG_MAX);
	munmap(child, sizeof(*child));
	return r;
}
