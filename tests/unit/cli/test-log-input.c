// SPDX-License-Identifier: GPL-2.0-only
/*
 * A log that comes through a pipe, as of `journalctl -f | perftape incidents scan --json -`. The
 * pipe stays open, and each line is there as soon as its writer wrote it.
 */
#include "cli/incidents/log-input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/check.h"

int __real_poll(struct pollfd *files, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *files, nfds_t count, int timeout_ms);

/* No other process writes into the pipe, so waiting would change nothing. */
int __wrap_poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
	(void)timeout_ms;
	return __real_poll(files, count, 0);
}

static void put(int fd, const char *text)
{
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
}

/* The pipe, and standard input as its reading end. */
static int begin_pipe(void)
{
	int ends[2];

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	CHECK_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	/* a read without data fails, and does not wait for ever */
	CHECK_EQ(fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK), 0);
	return ends[1];
}

static void check_read(const struct log_input *input, const char *text, bool idle)
{
	char seen[64] = "";
	bool is_idle = !idle;

	CHECK_EQ(log_input_read_pipe(input, seen, sizeof(seen) - 1, &is_idle), strlen(text));
	CHECK_STR(seen, text);
	CHECK_EQ(is_idle, idle);
}

static void test_follows(void)
{
	_cleanup_close_ int to = begin_pipe();
	struct log_input input;
	struct error error = { 0 };
	char seen[64] = "";

	put(to, "first line\n");
	CHECK_EQ(log_input_open("-", true, &input, &error), 0);
	CHECK_EQ(log_input_read_at(&input, seen, sizeof(seen) - 1, 0), 11);
	CHECK_STR(seen, "first line\n");
	check_read(&input, "", true);
	put(to, "second line\n");
	check_read(&input, "second line\n", false);
	check_read(&input, "", true);
	close(take_fd(to));
	check_read(&input, "", false);
	log_input_done(&input);
}

CHECK_MAIN({ "lines of a pipe come as they are written", test_follows })
