// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/open-helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"

/*
 * A process that hangs in the kernel survives SIGKILL for a while. With this many of them, wait
 * until some have died before forking again.
 */
#define STUCK_MAX 8
/* A keeper that was killed is replaced at most once in this time. */
#define KEEPER_NS NSEC_PER_SEC

/* A message carries at most a file and its debug file. */
#define FILES 2

/* ---- messages with descriptors ---- */

static int send_with(int fd, const void *bytes, size_t size, const int *files, size_t count)
{
	char control[CMSG_SPACE(FILES * sizeof(int))] = { 0 };
	struct iovec part = { (void *)bytes, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *header;
	ssize_t sent;

	if (count) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(header), files, count * sizeof(int));
	}
	do
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/*
 * Returns the size of the message, 0 at the end, or a negative errno. A file that did not come is
 * -1.
 */
static ssize_t receive_with(int fd, void *bytes, size_t size, int files[FILES])
{
	char control[CMSG_SPACE(FILES * sizeof(int))];
	struct iovec part = { bytes, size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header;
	ssize_t got;

	for (size_t i = 0; i < FILES; i++)
		files[i] = -1;
	do
		got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(files, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	return got;
}

/* ---- the helper ---- */

static void answer_one(int fd, const struct open_helper_question *question)
{
	const struct finder finder = { .live = question->live };
	struct finder_request request = { question->kind,   question->pid,  question->until_ns,
					  question->module, question->path, question->since_ns };
	_cleanup_(finder_files_close) struct finder_files files = { -1, -1 };
	struct open_helper_answer answer = { .result =
						     finder_find_here(&finder, &request, &files) };
	int there[FILES];
	size_t count = 0;

	answer.module = request.module;
	answer.has_file[0] = files.fd >= 0 && fstat(files.fd, &answer.about) == 0;
	answer.has_file[1] = files.other_fd >= 0;
	if (answer.has_file[0])
		there[count++] = files.fd;
	if (answer.has_file[1])
		there[count++] = files.other_fd;
	if (send_with(fd, &answer, sizeof(answer), there, count) < 0)
		_exit(1);
}

static void open_helper_main(int fd)
{
	struct open_helper_question question;
	ssize_t size;

	do {
		size = recv(fd, &question, sizeof(question), 0);
		if (size > (ssize_t)offsetof(struct open_helper_question, path))
			answer_one(fd, &question);
	} while (size > 0 || (size < 0 && errno == EINTR));
	_exit(0);
}

/* ---- the keeper ---- */

struct keeper {
	int control;
	/* pid of its helper; 0: none */
	int32_t pid;
	/* helpers that were killed and are not dead yet */
	array_of(int32_t) killed;
};

static void open_helper_reap(struct keeper *keeper)
{
	size_t kept = 0;

	for (size_t i = 0; i < keeper->killed.count; i++)
		if (waitpid(keeper->killed.items[i], NULL, WNOHANG) == 0)
			keeper->killed.items[kept++] = keeper->killed.items[i];
	keeper->killed.count = kept;
}

static void kill_helper(struct keeper *keeper)
{
	if (keeper->pid > 0 && array_push(&keeper->killed, keeper->pid) == 0)
		kill(keeper->pid, SIGKILL);
	keeper->pid = 0;
}

/* Forks a helper, and sends our end of its socket to the recorder. */
static void make_helper(struct keeper *keeper)
{
	_cleanup_close_ int ours = -1, its = -1;
	int pair[2];

	kill_helper(keeper);
	open_helper_reap(keeper);
	if (keeper->killed.count < STUCK_MAX &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
		ours = pair[0];
		its = pair[1];
		keeper->pid = fork();
		if (keeper->pid == 0) {
			/* the helper ends with the keeper, also when the keeper is killed */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(ours);
			close(keeper->control);
			open_helper_main(its);
		}
	}
	/* without a helper, the recorder asks again */
	send_with(keeper->control, &keeper->pid, sizeof(keeper->pid), &ours,
		  keeper->pid > 0 ? 1 : 0);
}

static void close_from(int first, int last)
{
	if (syscall(SYS_close_range, first, last, 0) == 0 || errno != ENOSYS)
		return;
	last = MIN(last, sysconf(_SC_OPEN_MAX) - 1);
	for (int fd = first; fd <= last; fd++)
		close(fd);
}

/* Closes the files of the recorder and ignores signals from the terminal. */
static void leave_parent(int control)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int number = 1; number < NSIG; number++)
		signal(number, number == SIGCHLD ? SIG_DFL : SIG_IGN);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	if (control > 3)
		close_from(3, control - 1);
	close_from(control + 1, INT_MAX);
	prctl(PR_SET_NAME, "perftape-open");
}

static void open_helper_keeper_main(int control)
{
	struct keeper keeper = { .control = control };
	ssize_t size;
	char byte;

	leave_parent(control);
	do {
		size = recv(control, &byte, 1, 0);
		if (size == 1)
			make_helper(&keeper);
	} while (size == 1 || (size < 0 && errno == EINTR));
	kill_helper(&keeper);
	_exit(0);
}

/* ---- our side ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The keeper touches no file, so it dies at once. */
static void drop_keeper(struct open_helper *helper)
{
	close_fd(&helper->fd);
	close_fd(&helper->control);
	if (helper->keeper > 0) {
		kill(helper->keeper, SIGKILL);
		while (waitpid(helper->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	}
	helper->keeper = 0;
}

int open_helper_start(struct open_helper *helper)
{
	_cleanup_close_ int ours = -1, its = -1;
	pid_t pid;
	int pair[2];

	*helper = (struct open_helper){ .control = -1, .fd = -1 };
	helper->started_ns = clock_ns(CLOCK_MONOTONIC);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	its = pair[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		close(ours);
		open_helper_keeper_main(its);
	}
	helper->keeper = pid;
	helper->control = take_fd(ours);
	open_helper_replace(helper);
	return 0;
}

void open_helper_stop(struct open_helper *helper)
{
	drop_keeper(helper);
}

bool open_helper_ready(struct open_helper *helper, int timeout_ms)
{
	struct pollfd polled = { .events = POLLIN };
	ssize_t size;
	int files[FILES];

	if (helper->fd >= 0)
		return true;
	if (helper->control < 0 && (clock_ns(CLOCK_MONOTONIC) - helper->started_ns < KEEPER_NS ||
				    open_helper_start(helper) < 0))
		return false;
	polled.fd = helper->control;
	if (poll(&polled, 1, timeout_ms) <= 0)
		return false;
	size = receive_with(helper->control, &helper->pid, sizeof(helper->pid), files);
	if (size != sizeof(helper->pid)) {
		drop_keeper(helper);
		return false;
	}
	helper->fd = files[0];
	if (helper->fd < 0)
		open_helper_replace(helper);
	return helper->fd >= 0;
}

void open_helper_replace(struct open_helper *helper)
{
	close_fd(&helper->fd);
	if (helper->control >= 0 && send(helper->control, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		drop_keeper(helper);
}

bool open_helper_waits_for_cpu(const struct open_helper *helper)
{
	_cleanup_free_ char *text = NULL;
	char path[40], *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", helper->pid);
	if (file_read(path, 4096, &text, NULL) < 0)
		return false;
	end = strrchr(text, ')');
	return end && strncmp(end, ") R", 3) == 0;
}

int open_helper_question(const struct finder *finder, const struct finder_request *request,
			 struct open_helper_question *ret_question)
{
	size_t size = strlen(request->path);

	if (size >= sizeof(ret_question->path))
		return -ENAMETOOLONG;
	ret_question->module = request->module;
	ret_question->until_ns = request->until_ns;
	ret_question->since_ns = request->since_ns;
	ret_question->kind = request->kind;
	ret_question->pid = request->pid;
	ret_question->live = finder->live;
	memcpy(ret_question->path, request->path, size + 1);
	return 0;
}

int open_helper_ask(struct open_helper *helper, const struct open_helper_question *question)
{
	size_t size = offsetof(struct open_helper_question, path) + strlen(question->path) + 1;

	if (send(helper->fd, question, size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	return errno == EINTR ? -EAGAIN : -errno;
}

int open_helper_listen(struct open_helper *helper, int timeout_ms,
		       struct open_helper_answer *ret_answer, struct finder_files *ret_files)
{
	struct pollfd polled = { .fd = helper->fd, .events = POLLIN };
	int files[FILES], next = 0;
	ssize_t size;

	if (poll(&polled, 1, timeout_ms) <= 0)
		return 0;
	size = receive_with(helper->fd, ret_answer, sizeof(*ret_answer), files);
	if (size != sizeof(*ret_answer)) {
		finder_files_close(&(struct finder_files){ files[0], files[1] });
		return size < 0 ? size : -EPIPE;
	}
	ret_files->fd = ret_answer->has_file[0] ? files[next++] : -1;
	ret_files->other_fd = ret_answer->has_file[1] ? files[next] : -1;
	return 1;
}
