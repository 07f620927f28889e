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
#include "recorder/files/work-share.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/*
 * A process that hangs in the kernel survives SIGKILL for a while. With this number of such
 * helpers, the keeper does not start another helper until some have died.
 */
#define STUCK_MAX 8
/* We replace a killed keeper at most once in this time. */
#define KEEPER_NS NSEC_PER_SEC
/*
 * The naming helper is replaced after this number of files. So a file that takes over that process
 * cannot make it lie about more files.
 */
#define NAMES_USES 64

/*
 * The rights to open files of other processes: to enter their roots and mappings, and to read files
 * that only these processes may read.
 */
#define RIGHTS (1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH | links_right())

/*
 * Time for the naming helper to read a file. It reads the contents in another process. So if the
 * open helper takes longer than this, it hangs in a file system.
 */
#define FILE_NS (3 * NSEC_PER_SEC / 2)
static const struct name_helper_patience patience = { NSEC_PER_SEC / 2, NSEC_PER_SEC, FILE_NS };

/* Returns the right to follow links below /proc/PID/map_files. */
static uint64_t links_right(void)
{
	/* before Linux 5.9, CAP_SYS_ADMIN included this right */
	return prctl(PR_CAPBSET_READ, CAP_CHECKPOINT_RESTORE, 0, 0, 0) < 0
		       ? 1ull << CAP_SYS_ADMIN
		       : 1ull << CAP_CHECKPOINT_RESTORE;
}

/* ---- the helper ---- */

/*
 * Microseconds of CPU time that the owner of files may use to have them opened. To read the
 * identity of a file takes some ten.
 */
static const struct account_bucket open_share = { .burst = 50000, .rate = 2000 };
/*
 * A host with thousands of mounts takes some milliseconds more for each file. No owner pays for
 * them.
 */
#define FREE_NS (20 * NSEC_PER_MSEC)

struct open_server {
	int socket;
	struct name_helper *names;
	struct work_share share;
};

/* Opens the files, unless their owner has used up the share of the time. */
static int open_server_find(struct open_server *server, const struct open_helper_question *question,
			    struct finder_request *request, struct finder_files *ret_files)
{
	const struct finder finder = { .live = question->live, .helper = server->names };
	uint64_t here_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t spent_ns = name_helper_spent_ns(server->names);
	int r;

	if (!work_share_admits(&server->share, question->owner, clock_ns(CLOCK_MONOTONIC)))
		return -EDQUOT;
	r = finder_find_here(&finder, request, ret_files);
	spent_ns = name_helper_spent_ns(server->names) - spent_ns;
	here_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - here_ns;
	work_share_spend(&server->share, question->owner,
			 spent_ns + here_ns - MIN(here_ns, FREE_NS));
	return r;
}

static void open_server_answer(struct open_server *server,
			       const struct open_helper_question *question)
{
	struct finder_request request = { .kind = question->kind,
					  .pid = question->pid,
					  .until_ns = question->until_ns,
					  .module = question->module,
					  .path = question->path,
					  .since_ns = question->since_ns };
	_cleanup_(finder_files_close) struct finder_files files = { -1, -1 };
	struct open_helper_answer answer = {
		.result = open_server_find(server, question, &request, &files),
	};
	int there[FD_MESSAGE_FILES];
	size_t count = 0;

	answer.module = request.module;
	answer.has_file[0] = files.fd >= 0 && fstat(files.fd, &answer.about) == 0;
	answer.has_file[1] = files.other_fd >= 0;
	if (answer.has_file[0])
		there[count++] = files.fd;
	if (answer.has_file[1])
		there[count++] = files.other_fd;
	if (fd_message_send(server->socket, &answer, sizeof(answer), there, count, 0) < 0)
		_exit(1);
}

int open_helper_run(int socket)
{
	struct open_server server = { .socket = socket };
	struct open_helper_question question;
	unsigned int questions = 0;
	ssize_t size;

	prctl(PR_SET_NAME, "perftape-open");
	if (helper_keep_rights(RIGHTS) < 0 || name_helper_new(&patience, &server.names) < 0)
		return 1;
	work_share_init(&server.share, open_share);
	do {
		size = recv(socket, &question, sizeof(question), 0);
		if (size <= (ssize_t)offsetof(struct open_helper_question, path))
			continue;
		name_helper_until(server.names, clock_ns(CLOCK_MONOTONIC) + FILE_NS);
		open_server_answer(&server, &question);
		if (++questions % NAMES_USES == 0)
			name_helper_rest(server.names);
	} while (size > 0 || (size < 0 && errno == EINTR));
	work_share_done(&server.share);
	name_helper_free(server.names);
	return 0;
}

/* ---- the keeper ---- */

struct keeper {
	int control;
	/* pid of its helper; 0: none */
	int32_t pid;
	/* helpers that the keeper killed and that are not dead yet */
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
	/* without a descriptor in this message, the recorder asks again later */
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

/* The keeper never opens a file that could block, so it dies at once. */
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
	if (r < 0)
		return r;
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
	ret_question->owner = request->owner;
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

/* Returns whether the received files match the answer's has_file. */
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
