// SPDX-License-Identifier: GPL-2.0-only
#include "base/output-relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

/* Returns true for outputs whose reader may wait until all writers have closed them. */
static bool is_pipe_or_socket(int fd)
{
	struct stat about;

	return fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
}

static bool is_same_file(int fd, int other)
{
	struct stat about, about_other;

	return fstat(fd, &about) == 0 && fstat(other, &about_other) == 0 &&
	       about.st_dev == about_other.st_dev && about.st_ino == about_other.st_ino;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(take_fd(*fd));
}

static int output_relay_open(struct output_relay *relay)
{
	int fds[2];

	if (!is_pipe_or_socket(relay->to))
		return 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	relay->from = fds[0];
	relay->child_end = fds[1];
	return fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* Lets the child write to the pipe of another relay, which keeps the order of both outputs. */
static int output_relay_join(struct output_relay *relay, const struct output_relay *other)
{
	relay->child_end = fcntl(other->child_end, F_DUPFD_CLOEXEC, 0);
	return relay->child_end < 0 ? -errno : 0;
}

int relays_open(struct output_relay relays[RELAYS])
{
	struct output_relay *output = &relays[0], *messages = &relays[1];
	int r;

	*output = (struct output_relay){ STDOUT_FILENO, -1, -1 };
	*messages = (struct output_relay){ STDERR_FILENO, -1, -1 };
	r = output_relay_open(output);
	if (r < 0)
		return r;
	if (output->from >= 0 && is_same_file(output->to, messages->to))
		return output_relay_join(messages, output);
	return output_relay_open(messages);
}

/*
 * Closes all descriptors except `keep`. close_range() needs Linux 5.9; on older kernels the
 * descriptors stay open.
 */
static void close_all_but(int keep)
{
	if (keep > STDERR_FILENO + 1)
		(void)syscall(__NR_close_range, STDERR_FILENO + 1, keep - 1, 0);
	(void)syscall(__NR_close_range, keep + 1, UINT_MAX, 0);
}

void relays_enter(struct output_relay relays[RELAYS], int keep)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDIN_FILENO);
	for (int i = 0; i < RELAYS; i++)
		if (relays[i].child_end >= 0)
			dup2(relays[i].child_end, relays[i].to);
	relays_done(relays);
	close_all_but(keep);
}

void relays_begin(struct output_relay relays[RELAYS])
{
	for (int i = 0; i < RELAYS; i++)
		close_end(&relays[i].child_end);
}

/*
 * Relays what the child wrote. Returns false at the end of the child's output, or when our reader
 * is gone. The closed pipe then causes SIGPIPE or EPIPE in the child.
 */
static bool output_relay_take(const struct output_relay *relay)
{
	char bytes[65536];
	ssize_t size;

	do
		size = read(relay->from, bytes, sizeof(bytes));
	while (size > 0 && file_write_all(relay->to, bytes, size) == 0);
	return size < 0 && (errno == EAGAIN || errno == EINTR);
}

void relays_take(struct output_relay relays[RELAYS])
{
	for (int i = 0; i < RELAYS; i++)
		if (relays[i].from >= 0 && !output_relay_take(&relays[i]))
			close_end(&relays[i].from);
}

void relays_done(struct output_relay relays[RELAYS])
{
	for (int i = 0; i < RELAYS; i++) {
		close_end(&relays[i].from);
		close_end(&relays[i].child_end);
	}
}
