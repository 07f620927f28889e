// SPDX-License-Identifier: GPL-2.0-only
#include "namer/name-helper.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "process/fd-message.h"
#include "process/helper.h"
#include "namer/name-internal.h"
#include "namer/name-server.h"

/*
 * A process that hangs in the kernel survives SIGKILL for a while. While DYING_MAX killed helpers
 * still exist, no further helper starts.
 */
#define DYING_MAX 8
/* The interval of checks whether a question takes too long. */
#define LOOK_MS 100
/* A new helper replaces one that has used more CPU time than this, between two questions. */
#define USED_NS (20 * NSEC_PER_SEC)

struct name_helper {
	struct name_helper_patience patience;
	uint64_t until_ns;
	/* May be NULL. */
	void (*waits)(void *context);
	void *context;
	/* -1: no helper. */
	int socket;
	int32_t pid;
	/* CPU time that earlier helpers used, and the present one up to the last look */
	uint64_t spent_ns;
	uint64_t used_ns;
	/* Helpers that we killed and that have not ended yet. */
	int32_t dying[DYING_MAX];
	size_t dying_count;
	/*
	 * Time that we have waited for the present question, without the time that this process
	 * itself did not run, and the CPU time that the helper had used before.
	 */
	uint64_t waited_ns;
	uint64_t cpu_ns;
	/* The identity that the helper read last, and the state of its file. */
	struct name_identity identity;
	struct stat identified;
	int identity_result;
};

int name_helper_new(const struct name_helper_patience *patience, struct name_helper **ret_helper)
{
	struct name_helper *helper = calloc(1, sizeof(*helper));

	if (!helper)
		return -ENOMEM;
	helper->patience = *patience;
	helper->socket = -1;
	*ret_helper = helper;
	return 0;
}

void name_helper_observe(struct name_helper *helper, void (*waits)(void *context), void *context)
{
	helper->waits = waits;
	helper->context = context;
}

void name_helper_waits(const struct name_helper *helper)
{
	if (helper && helper->waits)
		helper->waits(helper->context);
}

static void name_helper_reap(struct name_helper *helper)
{
	size_t kept = 0;

	for (size_t i = 0; i < helper->dying_count; i++)
		if (waitpid(helper->dying[i], NULL, WNOHANG) == 0)
			helper->dying[kept++] = helper->dying[i];
	helper->dying_count = kept;
}

/* Returns the CPU time that the helper has used; 0 if it is gone. */
static uint64_t name_helper_used_ns(const struct name_helper *helper)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(helper->pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return 0;
	return used.tv_sec * NSEC_PER_SEC + used.tv_nsec;
}

uint64_t name_helper_spent_ns(struct name_helper *helper)
{
	/* the clock of a helper that crashed may be gone */
	if (helper->socket >= 0)
		helper->used_ns = MAX(helper->used_ns, name_helper_used_ns(helper));
	return helper->spent_ns + helper->used_ns;
}

void name_helper_rest(struct name_helper *helper)
{
	if (helper->socket < 0)
		return;
	helper->spent_ns = name_helper_spent_ns(helper);
	helper->used_ns = 0;
	close(helper->socket);
	helper->socket = -1;
	kill(helper->pid, SIGKILL);
	assert(helper->dying_count < DYING_MAX);
	helper->dying[helper->dying_count++] = helper->pid;
	name_helper_reap(helper);
}

struct name_helper *name_helper_free(struct name_helper *helper)
{
	if (!helper)
		return NULL;
	name_helper_rest(helper);
	/* init reaps a helper that still hangs in the kernel after this */
	for (int tries = 0; helper->dying_count && tries < 100; tries++) {
		usleep(1000);
		name_helper_reap(helper);
	}
	free(helper);
	return NULL;
}

void name_helper_until(struct name_helper *helper, uint64_t until_ns)
{
	helper->until_ns = until_ns;
}

static int name_helper_ready(struct name_helper *helper)
{
	int r;

	if (helper->socket >= 0 && name_helper_used_ns(helper) > USED_NS)
		name_helper_rest(helper);
	if (helper->socket >= 0)
		return 0;
	name_helper_reap(helper);
	if (helper->dying_count == DYING_MAX)
		return -ECHILD;
	r = helper_start(NAME_SERVER_JOB, SOCK_STREAM, 0, &helper->pid, &helper->socket);
	return r < 0 ? -ECHILD : 0;
}

/* Returns whether a helper that is silent took too long for the present question. */
static bool name_helper_is_late(const struct name_helper *helper)
{
	const struct name_helper_patience *patience = &helper->patience;

	if (helper->until_ns && clock_ns(CLOCK_MONOTONIC) >= helper->until_ns)
		return true;
	if (helper->waited_ns >= patience->starved_ns ||
	    name_helper_used_ns(helper) >= helper->cpu_ns + patience->cpu_ns)
		return true;
	return helper->waited_ns >= patience->blocked_ns && !helper_waits_for_cpu(helper->pid);
}

/* Polls for one interval. Returns whether the socket is ready. */
static bool name_helper_poll(struct name_helper *helper, short events)
{
	struct pollfd polled = { .fd = helper->socket, .events = events };
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	int ready = poll(&polled, 1, LOOK_MS);

	helper->waited_ns += MIN(clock_ns(CLOCK_MONOTONIC) - begin_ns, LOOK_MS * NSEC_PER_MSEC);
	return ready > 0;
}

/*
 * Waits until the socket can be read or written. A helper that was taken over may send single
 * bytes, so each wait counts. An answer that is there is taken even after the time for a tape,
 * because this process itself may have been late.
 */
static int name_helper_wait(void *context, short events)
{
	struct name_helper *helper = context;

	while (!name_helper_poll(helper, events)) {
		if (name_helper_is_late(helper))
			return -ETIME;
		name_helper_waits(helper);
	}
	return helper->waited_ns >= helper->patience.starved_ns ? -ETIME : 0;
}

/* The kernel drops files that a hostile helper sends, because recv() does not accept files. */
static int name_helper_receive(struct name_helper *helper, void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		int r = name_helper_wait(helper, POLLIN);
		ssize_t got;

		if (r < 0)
			return r;
		got = recv(helper->socket, (uint8_t *)bytes + done, size - done, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return -EPROTO;
		done += got;
	}
	return 0;
}

static int send_question(struct name_helper *helper, const struct name_question *question,
			 const uint64_t *addresses, const int files[FD_MESSAGE_FILES])
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	int there[FD_MESSAGE_FILES];
	size_t count = 0;

	if (question->files & NAME_HAS_FILE)
		there[count++] = files[0];
	if (question->files & NAME_HAS_OTHER)
		there[count++] = files[1];
	name_question_encode(question, addresses, &bytes);
	if (buffer_failed(&bytes))
		return -ENOMEM;
	return fd_message_send_waiting(helper->socket, bytes.data, bytes.size, there, count,
				       name_helper_wait, helper);
}

static int receive_answer(struct name_helper *helper, const struct name_question *question,
			  int *ret_result, struct buffer *body)
{
	uint8_t head[NAME_ANSWER_SIZE], *room;
	size_t size;
	int r = name_helper_receive(helper, head, sizeof(head));

	if (r < 0)
		return r;
	r = name_answer_head(head, question, ret_result, &size);
	if (r < 0 || !size)
		return r;
	room = buffer_room(body, size);
	if (!room)
		return -ENOMEM;
	body->size = size;
	return name_helper_receive(helper, room, size);
}

int name_helper_ask(struct name_helper *helper, const struct name_question *question,
		    const uint64_t *addresses, const int files[FD_MESSAGE_FILES], int *ret_result,
		    struct buffer *body)
{
	int r;

	if (helper->until_ns && clock_ns(CLOCK_MONOTONIC) >= helper->until_ns)
		return -ETIME;
	r = name_helper_ready(helper);
	if (r < 0)
		return r;
	helper->waited_ns = 0;
	helper->cpu_ns = name_helper_used_ns(helper);
	r = send_question(helper, question, addresses, files);
	if (r == 0)
		r = receive_answer(helper, question, ret_result, body);
	if (r < 0)
		name_helper_rest(helper);
	return r;
}

/* Ends a helper that lacks memory, because the memory that it holds may be a part of the reason. */
int name_helper_result(struct name_helper *helper, int result)
{
	if (result != -ENOMEM)
		return result;
	name_helper_rest(helper);
	return -EFBIG;
}

static bool is_same_state(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int name_helper_read_identity(struct name_helper *helper, int fd)
{
	const struct name_question question = { NAME_IDENTITY, NAME_HAS_FILE, 0 };
	_cleanup_(buffer_done) struct buffer body = { 0 };
	int result = 0, r;

	memset(&helper->identity, 0, sizeof(helper->identity));
	r = name_helper_ask(helper, &question, NULL, (int[]){ fd, -1 }, &result, &body);
	if (r < 0)
		return r;
	if (body.size)
		r = name_answer_take_identity(body.data, body.size, &helper->identity);
	return r < 0 ? r : name_helper_result(helper, result);
}

/*
 * Caches the last identity, because the search for a file and then that for its debug file ask for
 * it.
 */
int name_helper_identity(struct name_helper *helper, int fd, struct name_identity *ret_identity)
{
	struct stat about;

	if (fstat(fd, &about) < 0)
		return -errno;
	if (!helper->identified.st_ino || !is_same_state(&about, &helper->identified)) {
		helper->identity_result = name_helper_read_identity(helper, fd);
		helper->identified = about;
		/* a later call tries again, because only damage is permanent */
		if (helper->identity_result < 0 && helper->identity_result != -EBADMSG)
			helper->identified.st_ino = 0;
	}
	*ret_identity = helper->identity;
	return helper->identity_result;
}

int name_helper_has_crc(struct name_helper *helper, int fd, uint32_t crc)
{
	const struct name_question question = { NAME_CRC, NAME_HAS_FILE, 1 };
	_cleanup_(buffer_done) struct buffer body = { 0 };
	const uint64_t wanted = crc;
	int result = 0, r;

	r = name_helper_ask(helper, &question, &wanted, (int[]){ fd, -1 }, &result, &body);
	return r < 0 ? r : name_helper_result(helper, result);
}

static int list_open(const struct addresses *addresses, uint64_t **ret_list)
{
	uint64_t *list = malloc((addresses->open + 1) * sizeof(*list));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < addresses->list.count; i++)
		if (addresses->list.items[i].state == ADDRESSES_OPEN)
			list[count++] = addresses->list.items[i].address;
	assert(count == addresses->open);
	*ret_list = list;
	return 0;
}

/* The caller has sorted the addresses, so the list of open addresses is sorted, too. */
static int ask_names(struct name_helper *helper, enum name_task task, int fd, int other_fd,
		     const char *file_name, struct addresses *addresses)
{
	const struct name_question question = { task,
						(fd >= 0 ? NAME_HAS_FILE : 0) |
							(other_fd >= 0 ? NAME_HAS_OTHER : 0),
						addresses->open };
	_cleanup_(buffer_done) struct buffer body = { 0 };
	_cleanup_free_ uint64_t *list = NULL;
	int result = 0, r;

	if (!addresses->open || !question.files)
		return 0;
	if (addresses->open > NAME_ADDRESSES_MAX)
		return -E2BIG;
	r = list_open(addresses, &list);
	if (r < 0)
		return r;
	r = name_helper_ask(helper, &question, list, (int[]){ fd, other_fd }, &result, &body);
	if (r < 0)
		return r;
	if (body.size)
		r = name_answer_take_names(body.data, body.size, file_name, addresses);
	return r < 0 ? r : name_helper_result(helper, result);
}

int name_helper_elf(struct name_helper *helper, int fd, int debug_fd, const char *file_name,
		    struct addresses *addresses)
{
	return ask_names(helper, NAME_ELF, fd, debug_fd, file_name, addresses);
}

int name_helper_jit(struct name_helper *helper, int map_fd, int dump_fd,
		    struct addresses *addresses)
{
	return ask_names(helper, NAME_JIT, map_fd, dump_fd, "", addresses);
}
