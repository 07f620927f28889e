// SPDX-License-Identifier: GPL-2.0-only
#include "unpacker/unpack-helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/fd-message.h"
#include "process/helper.h"
#include "unpacker/unpack-answer.h"
#include "unpacker/unpack-server.h"

/* The interval of checks whether a part takes too long. */
#define LOOK_NS NSEC_PER_SEC
/*
 * Limits of the time for one part: while the helper is silent and does not wait for a CPU, and in
 * total.
 */
#define RUNNING_MAX_NS (10 * NSEC_PER_SEC)
#define WAITED_MAX_NS (60 * NSEC_PER_SEC)

struct unpack_helper {
	/* Decodes in this process; NULL: in the helper. */
	struct unpack_decoder *here;
	/* -1: the helper has ended. */
	int socket;
	int32_t pid;
	/* UNPACK_PART_MAX bytes; NULL: the decoder is here. */
	uint8_t *part;
	/*
	 * Time that the present part has taken: in all, and while the helper was silent without
	 * waiting for a CPU. Only polling counts, so this process may stop for as long as it likes.
	 */
	uint64_t waited_ns;
	uint64_t running_ns;
	/* Bytes of the present part that have come. */
	size_t received;
};

typedef int unpack_give(void *context, const uint8_t *data, size_t size);

static void unpack_helper_end(struct unpack_helper *helper)
{
	if (helper->socket < 0)
		return;
	close(helper->socket);
	helper->socket = -1;
	kill(helper->pid, SIGKILL);
	while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

struct unpack_helper *unpack_helper_free(struct unpack_helper *helper)
{
	if (!helper)
		return NULL;
	unpack_helper_end(helper);
	unpack_decoder_free(helper->here);
	free(helper->part);
	free(helper);
	return NULL;
}

static struct unpack_helper *unpack_helper_allocate(void)
{
	struct unpack_helper *helper = calloc(1, sizeof(*helper));

	if (helper)
		helper->socket = -1;
	return helper;
}

int unpack_helper_new_here(const uint8_t head[UNPACK_HEAD], struct unpack_helper **ret_helper)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *helper = unpack_helper_allocate();
	int r = helper ? unpack_decoder_new(head, &helper->here) : -ENOMEM;

	if (r < 0)
		return r;
	*ret_helper = take_ptr(helper);
	return 0;
}

int unpack_helper_new(const uint8_t head[UNPACK_HEAD], struct unpack_helper **ret_helper)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *helper = NULL;

	if (!unpack_is_packed(head))
		return -EBADMSG;
	helper = unpack_helper_allocate();
	if (helper)
		helper->part = malloc(UNPACK_PART_MAX);
	if (!helper || !helper->part)
		return -ENOMEM;
	if (helper_start(UNPACK_SERVER_JOB, SOCK_STREAM, 0, &helper->pid, &helper->socket) < 0 ||
	    fd_message_send_all(helper->socket, head, UNPACK_HEAD) < 0)
		return -ECHILD;
	*ret_helper = take_ptr(helper);
	return 0;
}

/* Forgets the time of the part before, which may be a question that the helper has answered. */
static void unpack_helper_begin_part(struct unpack_helper *helper)
{
	helper->waited_ns = 0;
	helper->running_ns = 0;
	helper->received = 0;
}

/* Polls for one interval. Returns whether the socket is ready. */
static bool unpack_helper_poll(struct unpack_helper *helper, short events)
{
	struct pollfd polled = { .fd = helper->socket, .events = events };
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), took_ns = LOOK_NS;
	int ready = poll(&polled, 1, LOOK_NS / NSEC_PER_MSEC);

	if (ready != 0)
		took_ns = MIN(clock_ns(CLOCK_MONOTONIC) - begin_ns, LOOK_NS);
	helper->waited_ns += took_ns;
	if (ready <= 0 && !helper_waits_for_cpu(helper->pid))
		helper->running_ns += took_ns;
	return ready > 0;
}

/*
 * Waits until the socket can be read or written. A helper that was taken over may not read, or send
 * single bytes; so time counts until a whole part has come.
 */
static int unpack_helper_wait(void *context, short events)
{
	struct unpack_helper *helper = context;
	bool is_ready = false;

	while (!is_ready) {
		is_ready = unpack_helper_poll(helper, events);
		if (helper->waited_ns >= WAITED_MAX_NS || helper->running_ns >= RUNNING_MAX_NS)
			return -ETIME;
	}
	return 0;
}

/* Receives at most a part. Returns its size, or a negative errno. */
static ssize_t unpack_helper_receive(struct unpack_helper *helper)
{
	ssize_t got;

	do {
		int r = unpack_helper_wait(helper, POLLIN);

		if (r < 0)
			return r;
		got = recv(helper->socket, helper->part, UNPACK_PART_MAX, MSG_DONTWAIT);
	} while (got < 0 && (errno == EAGAIN || errno == EINTR));
	if (got <= 0)
		return -EPROTO;
	helper->received += got;
	if (helper->received >= UNPACK_PART_MAX)
		unpack_helper_begin_part(helper);
	return got;
}

/* Receives an answer. Sets *ret_result to the result of the decoder. */
static int unpack_helper_take(struct unpack_helper *helper, unpack_give *give, void *context,
			      int *ret_result)
{
	struct unpack_answer answer = { 0 };
	int r = 0;

	while (r == 0) {
		ssize_t got = unpack_helper_receive(helper);

		r = got < 0 ? (int)got
			    : unpack_answer_take(&answer, helper->part, got, give, context);
	}
	*ret_result = answer.result;
	return MIN(r, 0);
}

static int unpack_helper_send(struct unpack_helper *helper, const void *bytes, size_t size)
{
	return fd_message_send_waiting(helper->socket, bytes, size, NULL, 0, unpack_helper_wait,
				       helper);
}

static int unpack_helper_exchange(struct unpack_helper *helper, const void *data, uint32_t size,
				  unpack_give *give, void *context, int *ret_result)
{
	int r = unpack_helper_send(helper, &size, sizeof(size));

	if (r < 0)
		return r;
	r = unpack_helper_send(helper, data, size);
	return r < 0 ? r : unpack_helper_take(helper, give, context, ret_result);
}

static int unpack_helper_ask(struct unpack_helper *helper, const void *data, uint32_t size,
			     unpack_give *give, void *context)
{
	int result = 0, r;

	if (helper->socket < 0)
		return -EPROTO;
	unpack_helper_begin_part(helper);
	r = unpack_helper_exchange(helper, data, size, give, context, &result);
	if (r < 0)
		unpack_helper_end(helper);
	return r < 0 ? r : result;
}

int unpack_helper_feed(struct unpack_helper *helper, const void *data, size_t size,
		       unpack_give *give, void *context)
{
	int r = 0;

	if (helper->here)
		return unpack_decoder_feed(helper->here, data, size, give, context);
	for (size_t done = 0; r == 0 && done < size; done += UNPACK_QUESTION_MAX)
		r = unpack_helper_ask(helper, (const uint8_t *)data + done,
				      MIN(size - done, (size_t)UNPACK_QUESTION_MAX), give, context);
	return r;
}

int unpack_helper_finish(struct unpack_helper *helper, unpack_give *give, void *context)
{
	if (helper->here)
		return unpack_decoder_finish(helper->here, give, context);
	return unpack_helper_ask(helper, NULL, 0, give, context);
}
