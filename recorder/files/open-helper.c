// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/open-helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "process/fd-message.h"
#include "process/helper.h"
#include "namer/name-helper.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/*
 * A process that hangs in the kernel survives SIGKILL for a while. With this many of them, wait
 * until some have died before starting another one.
 */
#define STUCK_MAX 8
/* A keeper that was killed is replaced at most once in this time. */
#define KEEPER_NS NSEC_PER_SEC
/* A file that takes over the process which reads it can lie about this many other files. */
#define NAMES_USES 64

/*
 * The rights that opening files of others needs: to enter their roots and mappings, and to read
 * what only they may read.
 */
#define RIGHTS (1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH | links_right())

/*
 * A file takes less. What files say about themselves is read in another process, so that a helper
 * that takes longer hangs in a file system.
 */
#define FILE_NS (3 * NSEC_PER_SEC / 2)
static const struct name_helper_patience patience = { NSEC_PER_SEC / 2, NSEC_PER_SEC, FILE_NS };

/* Returns the right to follow links below /proc/PID/map_files. */
static uint64_t links_right(void)
{
	/* before Linux 5.9 it was a part of this one */
	return prctl(PR_CAPBSET_READ, CAP_CHECKPOINT_RESTORE, 0, 0, 0) < 0
		       ? 1ull << CAP_SYS_ADMIN
		       : 1ull << CAP_CHECKPOINT_RESTORE;
}

/* ---- the helper ---- */

static void answer_one(int fd, const struct open_helper_question *question,
		       struct name_helper *names)
{
	const struct finder finder = { .live = question->live, .helper = names };
	struct finder_request request = { question->kind,   question->pid,  question->until_ns,
					  question->module, question->path, question->since_ns };
	_cleanup_(finder_files_close) struct finder_files files = { -1, -1 };
	struct open_helper_answer answer = { .result =
						     finder_find_here(&finder, &request, &files) };
	int there[FD_MESSAGE_FILES];
	size_t count = 0;

	answer.module = request.module;
	answer.has_file[0] = files.fd >= 0 && fstat(files.fd, &answer.about) == 0;
	answer.has_file[1] = files.other_fd >= 0;
	if (answer.has_file[0])
		there[count++] = files.fd;
	if (answer.has_file[1])
		there[count++] = files.other_fd;
	if (fd_message_send(fd, &answer, sizeof(answer), there, count, 0) < 0)
		_exit(1);
}

int open_helper_run(int socket)
{
	_cleanup_(cleanup_name_helper) struct name_helper *names = NULL;
	struct open_helper_question question;
	unsigned int questions = 0;
	ssize_t size;

	prctl(PR_SET_NAME, "perftape-open");
	if (helper_keep_rights(RIGHTS) < 0 || name_helper_new(&patience, &names) < 0)
		return 1;
	do {
		size = recv(socket, &question, sizeof(question), 0);
		if (size <= (ssize_t)offsetof(struct open_helper_question, path))
			continue;
		name_helper_until(names, clock_ns(CLOCK_MONOTONIC) + FILE_NS);
		answer_one(socket, &question, names);
		if (++questions % NAMES_USES == 0)
			name_helper_rest(names);
	} while (size > 0 || (size < 0 && errno == EINTR));
	return 0;
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

/* Starts a helper, and sends our end of its socket to the recorder. */
static void make_helper(struct keeper *keeper)
{
	_cleanup_close_ int ours = -1;

	kill_helper(keeper);
	open_helper_reap(keeper);
	if (keeper->killed.count < STUCK_MAX &&
	    helper_start(OPEN_HELPER_JOB, SOCK_SEQPACKET, RIGHTS, &keeper->pid, &ours) < 0)
		keeper->pid = 0;
	/* without a helper, the recorder asks again */
	fd_message_send(keeper->control, &keeper->pid, sizeof(keeper->pid), &ours,
			keeper->pid > 0 ? 1 : 0, 0);
}

int open_helper_keep(int socket)
{
	struct keeper keeper = { .control = socket };
	ssize_t size;
	char byte;

	prctl(PR_SET_NAME, "perftape-open");
	if (helper_keep_rights(RIGHTS) < 0)
		return 1;
	do {
		size = recv(socket, &byte, 1, 0);
		if (size == 1)
			make_helper(&keeper);
	} while (size == 1 || (size < 0 && errno == EINTR));
	kill_helper(&keeper);
	return 0;
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
	int r;

	*helper = (struct open_helper){ .control = -1, .fd = -1 };
	helper->started_ns = clock_ns(CLOCK_MONOTONIC);
	r = helper_start(OPEN_KEEPER_JOB, SOCK_SEQPACKET, RIGHTS, &helper->keeper,
			 &helper->control);
	if (r == 0)
		open_helper_replace(helper);
	return r;
}

void open_helper_stop(struct open_helper *helper)
{
	drop_keeper(helper);
}

bool open_helper_ready(struct open_helper *helper, int timeout_ms)
{
	struct pollfd polled = { .events = POLLIN };
	ssize_t size;
	int files[FD_MESSAGE_FILES];

	if (helper->fd >= 0)
		return true;
	if (helper->control < 0 && (clock_ns(CLOCK_MONOTONIC) - helper->started_ns < KEEPER_NS ||
				    open_helper_start(helper) < 0))
		return false;
	polled.fd = helper->control;
	if (poll(&polled, 1, timeout_ms) <= 0)
		return false;
	size = fd_message_receive(helper->control, &helper->pid, sizeof(helper->pid), files);
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
	return helper_waits_for_cpu(helper->pid);
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

/* Returns whether the files that came are those that the answer describes. */
static bool answer_is_sound(const struct open_helper_answer *answer, const int files[])
{
	uint8_t has_file[2];
	int count = 0;

	memcpy(has_file, answer->has_file, sizeof(has_file));
	for (int i = 0; i < FD_MESSAGE_FILES; i++)
		count += files[i] >= 0;
	return answer->result <= 0 && answer->module.build_id_size <= TAPE_BUILD_ID_MAX &&
	       has_file[0] <= 1 && has_file[1] <= 1 && has_file[0] + has_file[1] == count;
}

int open_helper_listen(struct open_helper *helper, int timeout_ms,
		       struct open_helper_answer *ret_answer, struct finder_files *ret_files)
{
	struct pollfd polled = { .fd = helper->fd, .events = POLLIN };
	int files[FD_MESSAGE_FILES], next = 0;
	ssize_t size;

	if (poll(&polled, 1, timeout_ms) <= 0)
		return 0;
	size = fd_message_receive(helper->fd, ret_answer, sizeof(*ret_answer), files);
	if (size != sizeof(*ret_answer) || !answer_is_sound(ret_answer, files)) {
		finder_files_close(&(struct finder_files){ files[0], files[1] });
		return size < 0 ? size : size == sizeof(*ret_answer) ? -EPROTO : -EPIPE;
	}
	ret_files->fd = ret_answer->has_file[0] ? files[next++] : -1;
	ret_files->other_fd = ret_answer->has_file[1] ? files[next] : -1;
	return 1;
}
