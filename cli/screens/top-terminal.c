// SPDX-License-Identifier: GPL-2.0-only
#include "cli/screens/top-terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"

/* Hides the cursor, and saves the screen until the end. */
static const char enter_screen[] = "\033[?1049h\033[?25l\033[2J";
static const char leave_screen[] = "\033[0m\033[?25h\033[?1049l";

#define ESCAPE_NS (50 * NSEC_PER_MSEC)

/* Global, because a process has one terminal, and a signal handler must find its settings. */
static struct termios before;
static volatile sig_atomic_t opened;

static const int ending_signals[] = { SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGSEGV,
				      SIGABRT, SIGBUS,	SIGFPE, SIGILL,	 SIGPIPE };

/* Writes all, unless the terminal is gone. write() is safe in a signal handler. */
static int put(const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t written = write(STDOUT_FILENO, at, size);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			at += written;
			size -= written;
		}
	}
	return 0;
}

/* Safe in a signal handler, as tcsetattr() is. */
static void restore(void)
{
	if (!opened)
		return;
	opened = 0;
	put(leave_screen, sizeof(leave_screen) - 1);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

static int prepare(void)
{
	struct termios raw = before;

	raw.c_lflag &= ~(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) < 0)
		return -errno;
	opened = 1;
	return put(enter_screen, sizeof(enter_screen) - 1);
}

/*
 * Restores the terminal. SA_RESETHAND has restored the signal's default action, so raise() ends the
 * process.
 */
static void on_end(int number)
{
	int saved = errno;

	restore();
	raise(number);
	errno = saved;
}

static void on_stop(int number)
{
	int saved = errno;

	restore();
	raise(SIGSTOP);
	/* SIGCONT continues the process here */
	prepare();
	(void)number;
	errno = saved;
}

/* Does nothing: the signal only has to interrupt poll(). */
static void on_resize(int number)
{
	(void)number;
}

static void handle_signals(void)
{
	struct sigaction end = { .sa_handler = on_end, .sa_flags = SA_RESETHAND };
	struct sigaction stop = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
	struct sigaction resize = { .sa_handler = on_resize };

	sigfillset(&end.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++) {
		sigdelset(&end.sa_mask, ending_signals[i]);
		sigaction(ending_signals[i], &end, NULL);
	}
	sigaction(SIGTSTP, &stop, NULL);
	sigaction(SIGWINCH, &resize, NULL);
}

int top_terminal_open(void)
{
	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return -errno;
	handle_signals();
	return prepare();
}

void top_terminal_close(void)
{
	restore();
}

/* Returns 1 with a byte, 0 if the time is over, or -1 if the terminal is gone. */
static int take_byte(uint64_t until_ns, unsigned char *ret_byte)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int r = poll(&input, 1, (int)((left_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));

	if (r < 0)
		return errno == EINTR ? 0 : -1;
	if (r == 0)
		return 0;
	return read(STDIN_FILENO, ret_byte, 1) == 1 ? 1 : -1;
}

/* Reads the rest of an arrow key: [A to [D, or OA to OD. */
static int take_arrow(void)
{
	static const int arrows[] = { TOP_KEY_UP, TOP_KEY_DOWN, TOP_KEY_RIGHT, TOP_KEY_LEFT };
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + ESCAPE_NS;
	unsigned char byte;

	if (take_byte(until_ns, &byte) != 1)
		return TOP_KEY_ESCAPE;
	if ((byte != '[' && byte != 'O') || take_byte(until_ns, &byte) != 1)
		return TOP_KEY_NONE;
	return byte >= 'A' && byte <= 'D' ? arrows[byte - 'A'] : TOP_KEY_NONE;
}

int top_terminal_key(uint64_t until_ns)
{
	unsigned char byte;
	int r = take_byte(until_ns, &byte);

	if (r <= 0)
		return r < 0 ? TOP_KEY_END : TOP_KEY_NONE;
	return byte == 033 ? take_arrow() : byte;
}

int top_terminal_show(const struct buffer *lines, unsigned int height, const char *status)
{
	_cleanup_(buffer_done) struct buffer screen = { 0 };
	const char *at = (const char *)lines->data, *end = at + lines->size;

	buffer_text(&screen, "\033[H");
	for (unsigned int row = 1; row < height && at < end; row++) {
		const char *newline = memchr(at, '\n', end - at);
		size_t size = newline ? newline - at : end - at, begin = screen.size;

		buffer_bytes(&screen, at, size);
		if (buffer_failed(&screen))
			return -ENOMEM;
		screen.size = begin + foreign_clean_lines((char *)screen.data + begin, size, true);
		buffer_text(&screen, "\033[K\n");
		at += size + (newline != NULL);
	}
	buffer_printf(&screen, "\033[0m\033[J\033[%u;1H%s\033[K", height, status);
	return buffer_failed(&screen) ? -ENOMEM : put(screen.data, screen.size);
}
