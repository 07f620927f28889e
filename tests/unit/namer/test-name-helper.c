// SPDX-License-Identifier: GPL-2.0-only
/*
 * A naming helper that does what its file says: it crashes, hangs, lies, or breaks out of the
 * sandbox. Each fault costs only the answer about this file. The next question gets its answer.
 */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "process/fd-message.h"
#include "base/file.h"
#include "process/helper.h"
#include "namer/name-helper.h"
#include "namer/name-server.h"
#include "process/sandbox.h"
#include "tests/wait.h"

#define ADDRESS 0x1234

/* ---- in the helper ---- */

static void answer(int socket, int result, const void *body, size_t size)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };

	name_answer_put_head(result, size, &bytes);
	buffer_bytes(&bytes, body, size);
	fd_message_send(socket, bytes.data, bytes.size, NULL, 0, 0);
}

static void put_row(struct buffer *body, uint32_t name, uint64_t start)
{
	buffer_u32(body, name);
	buffer_u64(body, start);
}

static void answer_rows(int socket, uint32_t name, uint64_t start, const char *texts, size_t size)
{
	_cleanup_(buffer_done) struct buffer body = { 0 };

	put_row(&body, name, start);
	buffer_bytes(&body, texts, size);
	answer(socket, 0, body.data, body.size);
}

static void enter_sandbox(void)
{
	const struct sandbox_limits limits = { 1u << 30, 60, 64 };

	if (sandbox_enter(&limits) < 0)
		_exit(3);
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* Calls what naming a large file needs of the C library and the kernel. */
static void work_in_sandbox(int socket)
{
	uint32_t count = 1 << 20, *numbers;
	struct stat about;
	void *page;

	enter_sandbox();
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	numbers = malloc(count * sizeof(*numbers));
	for (uint32_t i = 0; i < count; i++)
		numbers[i] = i * 2654435761u;
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
	numbers = realloc(numbers, 2 * count * sizeof(*numbers));
	if (fstat(socket, &about) == 0 && fcntl(socket, F_GETFD) >= 0 && numbers[1] > numbers[0])
		answer_rows(socket, 1, ADDRESS, "worked", 7);
	free(numbers);
}

static void do_in_sandbox(int socket, const char *what)
{
	enter_sandbox();
	if (strcmp(what, "socket") == 0)
		socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0, 0 });
	if (strcmp(what, "fork") == 0)
		fork();
	if (strcmp(what, "unlink") == 0)
		unlink("/nonexistent");
	if (strcmp(what, "kill") == 0)
		kill(getppid(), 0);
	if (strcmp(what, "code") == 0)
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (strcmp(what, "turn") == 0)
		mprotect((void *)((uintptr_t)&what & ~4095ul), 4096, PROT_READ | PROT_EXEC);
	/* not reached */
	answer_rows(socket, 1, ADDRESS, "escaped", 8);
}

/* Sends the longest answer byte by byte. */
static void trickle(int socket)
{
	_cleanup_(buffer_done) struct buffer head = { 0 };

	name_answer_put_head(0, NAME_TEXTS_MAX, &head);
	fd_message_send_all(socket, head.data, head.size);
	while (fd_message_send_all(socket, "", 1) == 0)
		usleep(1000);
}

static void obey(int socket, const char *text)
{
	if (strcmp(text, "name") == 0)
		answer_rows(socket, 1, ADDRESS - 4, "function", 9);
	else if (strcmp(text, "label") == 0)
		answer_rows(socket, 1u << 31 | 1, ADDRESS, "[+0x1234]", 10);
	else if (strcmp(text, "work") == 0)
		work_in_sandbox(socket);
	else if (strcmp(text, "crash") == 0)
		__builtin_trap();
	else if (strcmp(text, "hang") == 0)
		pause();
	else if (strcmp(text, "spin") == 0)
		for (volatile int i = 0;; i++)
			;
	else if (strcmp(text, "trickle") == 0)
		trickle(socket);
	else if (strcmp(text, "no memory") == 0)
		answer(socket, -ENOMEM, NULL, 0);
	else if (strcmp(text, "half") == 0)
		send(socket, "ha", 2, MSG_NOSIGNAL);
	else if (strcmp(text, "huge") == 0)
		send(socket, "\0\0\0\0\377\377\377\377", 8, MSG_NOSIGNAL);
	else if (strcmp(text, "errno") == 0)
		send(socket, "\377\377\377\377\0\0\0\0", 8, MSG_NOSIGNAL);
	else if (strcmp(text, "no rows") == 0)
		answer(socket, 0, "x", 2);
	else if (strcmp(text, "no text") == 0)
		answer_rows(socket, 2, ADDRESS, "function", 9);
	else if (strcmp(text, "no end") == 0)
		answer_rows(socket, 1, ADDRESS, "function", 8);
	else if (strcmp(text, "many") == 0)
		answer_rows(socket, 1, ADDRESS, "a\0b", 4);
	else if (strcmp(text, "later") == 0)
		answer_rows(socket, 1, ADDRESS + 2, "function", 9);
	else
		do_in_sandbox(socket, text);
}

static int obedient_run(int socket)
{
	uint8_t head[NAME_QUESTION_SIZE], address[8];
	int files[FD_MESSAGE_FILES];
	char text[32];

	while (fd_message_receive(socket, head, sizeof(head), files) == sizeof(head)) {
		ssize_t size = pread(files[0], text, sizeof(text) - 1, 0);

		recv(socket, address, sizeof(address), MSG_WAITALL);
		text[MAX(size, 0)] = 0;
		obey(socket, text);
		close(files[0]);
		if (strcmp(text, "half") == 0)
			return 0;
	}
	return 0;
}

static __attribute__((constructor)) void enter(int argc, char **argv)
{
	static const struct helper_job jobs[] = { { NAME_SERVER_JOB, obedient_run }, { 0 } };

	helper_enter(argc, argv, jobs);
}

/* ---- the test ---- */

#define MUCH_NS (600 * NSEC_PER_SEC)
#define LITTLE_NS (NSEC_PER_SEC / 20)

static struct name_helper *make_helper_with(uint64_t patience_ns, uint64_t starved_ns)
{
	const struct name_helper_patience patience = { patience_ns, patience_ns, starved_ns };
	struct name_helper *helper = NULL;

	CHECK_EQ(name_helper_new(&patience, &helper), 0);
	return helper;
}

/* Makes a helper with much patience, because the machine may be busy. */
static struct name_helper *make_helper(void)
{
	return make_helper_with(MUCH_NS, MUCH_NS);
}

/* Asks for one address in a file with this text. Returns the result, and the name in `name`. */
static int ask(struct name_helper *helper, const char *text, char name[64])
{
	_cleanup_close_ int fd = memfd_create("file", MFD_CLOEXEC);
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	int r;

	CHECK_EQ(file_write_all(fd, text, strlen(text)), 0);
	CHECK_EQ(addresses_add(&addresses, ADDRESS), 0);
	r = name_helper_elf(helper, fd, -1, "file", &addresses);
	snprintf(name, 64, "%s+%d", addresses_name(&addresses, &addresses.list.items[0]),
		 addresses.list.items[0].state == ADDRESSES_NAMED
			 ? (int)(ADDRESS - addresses.list.items[0].start)
			 : -1);
	return r;
}

static void check_good(struct name_helper *helper)
{
	char name[64];

	CHECK_EQ(ask(helper, "name", name), 0);
	CHECK_STR(name, "function+4");
}

static void check_bad(const char *text, int result)
{
	_cleanup_(cleanup_name_helper) struct name_helper *helper = make_helper();
	char name[64];

	check_good(helper);
	CHECK_EQ(ask(helper, text, name), result);
	CHECK_STR(name, "+-1");
	check_good(helper);
}

static void test_good(void)
{
	_cleanup_(cleanup_name_helper) struct name_helper *helper = make_helper();
	char name[64];

	check_good(helper);
	CHECK_EQ(ask(helper, "label", name), 0);
	CHECK_STR(name, "[file+0x1234]+0");
	name_helper_rest(helper);
	check_good(helper);
}

static void test_dies(void)
{
	check_bad("crash", -EPROTO);
	check_bad("half", -EPROTO);
}

static void test_slow(void)
{
	_cleanup_(cleanup_name_helper) struct name_helper *helper =
		make_helper_with(LITTLE_NS, MUCH_NS);
	char name[64];

	CHECK_EQ(ask(helper, "hang", name), -ETIME);
	CHECK_EQ(ask(helper, "spin", name), -ETIME);
	CHECK_STR(name, "+-1");
}

/* Bytes that come all the time do not gain time for the answer. */
static void test_trickle(void)
{
	_cleanup_(cleanup_name_helper) struct name_helper *helper =
		make_helper_with(MUCH_NS, LITTLE_NS);
	char name[64];

	CHECK_EQ(ask(helper, "trickle", name), -ETIME);
	CHECK_STR(name, "+-1");
}

static void test_memory(void)
{
	check_bad("no memory", -EFBIG);
}

static void test_lies(void)
{
	static const char *const lies[] = { "huge",   "errno", "no rows", "no text",
					    "no end", "many",  "later" };

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++)
		check_bad(lies[i], -EPROTO);
}

static void test_work(void)
{
	_cleanup_(cleanup_name_helper) struct name_helper *helper = make_helper();
	char name[64];

	CHECK_EQ(ask(helper, "work", name), 0);
	CHECK_STR(name, "worked+0");
}

static void test_sandbox(void)
{
	static const char *const ways[] = { "socket", "fork", "unlink", "kill", "code", "turn" };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		check_bad(ways[i], -EPROTO);
}

/* After the time for a tape, the client does not ask questions. */
static void test_until(void)
{
	_cleanup_(cleanup_name_helper) struct name_helper *helper = make_helper();
	char name[64];

	name_helper_until(helper, clock_ns(CLOCK_MONOTONIC));
	CHECK_EQ(ask(helper, "name", name), -ETIME);
	name_helper_until(helper, 0);
	check_good(helper);
}

/* Ends the waiting after some calls. */
struct waiting {
	struct name_helper *helper;
	int calls;
};

static void note_waiting(void *context)
{
	struct waiting *waiting = context;

	if (++waiting->calls == 3)
		name_helper_until(waiting->helper, clock_ns(CLOCK_MONOTONIC));
}

/* The owner goes on with other work while a file hangs. */
static void test_waits(void)
{
	_cleanup_(cleanup_name_helper) struct name_helper *helper = make_helper();
	struct waiting waiting = { .helper = helper };
	char name[64];

	name_helper_observe(helper, note_waiting, &waiting);
	check_good(helper);
	CHECK_EQ(ask(helper, "hang", name), -ETIME);
	CHECK_EQ(waiting.calls, 3);
	name_helper_until(helper, 0);
	check_good(helper);
	name_helper_waits(helper);
	CHECK(waiting.calls >= 4);
}

/* Starts a process that waits for its child, which computes. */
static pid_t start_waiting(pid_t *ret_child)
{
	int pipes[2];
	pid_t pid;

	CHECK_EQ(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		pid_t child = fork();

		if (child == 0)
			for (;;)
				__asm__ volatile("");
		CHECK_EQ(write(pipes[1], &child, sizeof(child)), (ssize_t)sizeof(child));
		for (;;)
			pause();
	}
	CHECK_EQ(read(pipes[0], ret_child, sizeof(*ret_child)), (ssize_t)sizeof(*ret_child));
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

/* A helper that waits for its own helper does not hang. */
static void test_helper_of_helper(void)
{
	pid_t child = 0, pid = start_waiting(&child);

	WAIT_UNTIL(helper_waits_for_cpu(child));
	CHECK(helper_waits_for_cpu(pid));
	kill(child, SIGSTOP);
	WAIT_UNTIL(!helper_waits_for_cpu(pid));
	kill(child, SIGKILL);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

CHECK_MAIN({ "a helper that waits for its own helper is not blocked", test_helper_of_helper },
	   { "names and labels come from the helper", test_good },
	   { "a helper that dies costs one answer", test_dies },
	   { "a helper that hangs or spins costs one answer", test_slow },
	   { "a helper that sends single bytes costs one answer", test_trickle },
	   { "a helper without memory costs one answer", test_memory },
	   { "an answer that is none costs one answer", test_lies },
	   { "a helper can work in its sandbox", test_work },
	   { "a helper that leaves its sandbox costs one answer", test_sandbox },
	   { "after the deadline nothing is asked", test_until },
	   { "the owner works while a file hangs", test_waits })
